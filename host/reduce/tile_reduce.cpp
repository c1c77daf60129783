// Reductions of tiles: the natural tree over a tile's lanes, over the operators that every reduction uses.
#include "host/common/float_environment.h"
#include "host/host.h"
#include "host/reduce/each_tile.h"
#include "numerics/tile_operators.h"

#include <cstring>

namespace wr::host {

namespace {

// The tree over a tile, `width` a power of two, in place of the values. An absent lane's is the identity.
template <class Op>
typename Op::Accumulator tree_over_tile(typename Op::Accumulator *values, std::uint32_t width) {
    for (std::size_t half = width / 2; half > 0; half /= 2) {
        for (std::size_t i = 0; i < half; ++i) {
            values[i] = Op::combine(values[2 * i], values[2 * i + 1]);
        }
    }
    return values[0];
}

void give_to_all(const void *result, std::size_t bytes, void *output, std::size_t first, std::uint32_t lanes) {
    auto *place = static_cast<std::byte *>(output) + first * bytes;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        std::memcpy(place + lane * bytes, result, bytes);
    }
}

// Behind a call, one for each kind of accumulator: finishing is longer than all the rest.
template <class Accumulator>
__attribute__((noinline)) void finish_tile(const Accumulator &whole, const Finish &finish, std::byte *result) {
    finish_accumulator(whole, finish, result, 0);
}

template <class Op, class T>
Status reduce_tiles(const TileReduceProblem &problem) {
    const auto *input = static_cast<const T *>(problem.input);
    const std::size_t output_bytes = traits_of(problem.what.output_dtype).size;
    const Mapping mapping = mapping_of(problem.what, nullptr);
    const Finish finish_whole = finish_of(problem.what, problem.tiles.width, nullptr);
    for_each_tile(problem.tiles, sizeof(T) + output_bytes, [&](std::size_t first, std::uint32_t lanes) {
        typename Op::Accumulator values[widest_tile];
        std::fill_n(values, widest_tile, Op::identity());
        for (std::uint32_t lane = 0; lane < lanes; ++lane) {
            values[lane] = map_element<Op>(input[first + lane], mapping, lane);
        }
        Finish finish = finish_whole;
        finish.axis = lanes;
        alignas(16) std::byte result[16] = {};
        finish_tile(tree_over_tile<Op>(values, problem.tiles.width), finish, result);
        give_to_all(result, output_bytes, problem.output, first, lanes);
    });
    return Status::success;
}

using Kernel = Status (*)(const TileReduceProblem &);

Kernel kernel_for(const Reduction &what) {
    return with_operator(what, []<class Op, class T>(OperatorOn<Op, T>) -> Kernel {
        if constexpr (is_tile_row<Op, T>) {
            return reduce_tiles<Op, T>;
        }
        return nullptr;
    });
}

} // namespace

Status tile_reduce(const TileReduceProblem &problem) {
    const Kernel kernel = kernel_for(problem.what);
    if (kernel == nullptr) {
        return Status::unsupported;
    }
    const FloatEnvironment environment;
    return kernel(problem);
}

} // namespace wr::host
