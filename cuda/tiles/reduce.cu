// Reductions of tiles: the natural tree by shuffles between the tile's lanes, which leaves the result in all of them.
#include "cuda/device/intrinsics.cuh"
#include "cuda/device/warp_tree.cuh"
#include "cuda/reduce/finish.cuh"
#include "cuda/tiles/runs.cuh"
#include "numerics/tile_operators.h"

namespace wr::cuda {

namespace {

template <class Op, class T>
__global__ void __launch_bounds__(tile_threads) reduce_tiles(const __grid_constant__ TileReduceArguments a) {
    const auto load = [&](std::size_t index) {
        return map_element<Op>(static_cast<const T *>(a.input)[index], a.mapping, index & (a.tiles.width - 1));
    };
    const auto work = [&](const TileLane &at, const typename Op::Accumulator &value) {
        const auto result = tree_over_lanes<Op>(value, static_cast<int>(a.tiles.width));
        if (at.present) {
            Finish finish = a.finish;
            finish.axis = at.lanes;
            finish_result(result, finish, a.output, at.index);
        }
    };
    for_each_tile_run(a.tiles, Op::identity(), load, work);
}

} // namespace

const void *tile_reduce_kernel(const Reduction &what) {
    return with_operator(what, []<class Op, class T>(OperatorOn<Op, T>) -> const void * {
        if constexpr (is_tile_row<Op, T>) {
            return address_of(reduce_tiles<Op, T>);
        }
        return nullptr;
    });
}

} // namespace wr::cuda
