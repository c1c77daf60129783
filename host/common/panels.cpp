#include "host/common/panels.h"

#include <algorithm>
#include <bit>

namespace wr::host {

void make_inner_the_neighbours(Shape &shape) {
    if (shape.inner == 1) {
        shape.inner = shape.outer;
        shape.inner_stride = shape.outer_stride;
        shape.outer = 1;
        shape.outer_stride = 0;
    }
}

Panels panels_of(const Shape &shape, std::size_t width) { return {width, divide_up(shape.inner, width)}; }

Pieces pieces_for(std::size_t axis, std::size_t panels, std::size_t threads, std::size_t shortest) {
    if (threads == 1 || panels >= tasks_per_thread * threads || axis <= shortest) {
        return {axis, 1};
    }
    const std::size_t wanted = divide_up(tasks_per_thread * threads, panels);
    const std::size_t length = std::max(std::bit_floor(divide_up(axis, wanted)), shortest);
    return {length, divide_up(axis, length)};
}

} // namespace wr::host
