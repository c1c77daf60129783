#include "host/common/strips.h"

#include <algorithm>
#include <bit>

namespace wr::host {

namespace {

// Tasks of each thread, so that one that starts late or runs slowly does not hold up the call.
constexpr std::size_t tasks_per_thread = 4;

// No piece is shorter: what a piece costs apart from its elements must not show. A multiple of softmax's block.
constexpr std::size_t shortest_piece = std::size_t{1} << 14;

} // namespace

void make_inner_the_neighbours(Shape &shape) {
    if (shape.inner == 1) {
        shape.inner = shape.outer;
        shape.inner_stride = shape.outer_stride;
        shape.outer = 1;
        shape.outer_stride = 0;
    }
}

Strips strips_of(const Shape &shape, std::size_t width) { return {width, divide_up(shape.inner, width)}; }

Pieces pieces_for(std::size_t axis, std::size_t strips, std::size_t threads) {
    if (threads == 1 || strips >= tasks_per_thread * threads || axis <= shortest_piece) {
        return {axis, 1};
    }
    const std::size_t wanted = divide_up(tasks_per_thread * threads, strips);
    const std::size_t length = std::max(std::bit_ceil(divide_up(axis, wanted)), shortest_piece);
    return {length, divide_up(axis, length)};
}

} // namespace wr::host
