#include "cuda/rowwise/two_pass_columns_plan.h"

#include "cuda/common/launch.h"
#include "cuda/common/vector_types.h"
#include "cuda/common/warp.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

struct Division {
    std::size_t across, down, side;
};

Division cut(const Shape &s, std::size_t element_bytes) {
    const std::size_t vectors = divide_up(s.inner, bytes_of_vector / element_bytes);
    const std::size_t side = std::min(std::bit_ceil(vectors), warp_threads);
    return {divide_up(vectors, side), divide_up(divide_up(s.axis, softmax_block), warp_threads / side), side};
}

} // namespace

TwoPassColumnTiles cut_into_two_pass_column_tiles(const Shape &shape, std::size_t element_bytes) {
    const Division made = cut(shape, element_bytes);
    return {static_cast<std::uint32_t>(made.across), static_cast<std::uint32_t>(made.down),
            std::countr_zero(made.side)};
}

std::size_t count_two_pass_column_tiles(const Shape &shape, std::size_t element_bytes) {
    const Division made = cut(shape, element_bytes);
    const bool fits = made.across != 0 && made.down != 0 && made.down <= most_blocks / made.across &&
                      shape.outer <= most_blocks / (made.across * made.down);
    return fits ? shape.outer * made.across * made.down : 0;
}

} // namespace wr::cuda
