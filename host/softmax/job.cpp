#include "host/softmax/job.h"

#include "host/common/panels.h"
#include "numerics/softmax.h"

#include <algorithm>

namespace wr::host {

namespace {

// Shorter rows are computed several at a time.
constexpr std::size_t shortest_lone_row = 64;

// As many groups of lanes as a tile has room for; where threads would be without a panel, fewer.
std::size_t lanes_at_once(const Shape &shape, std::size_t lanes, std::size_t threads) {
    constexpr std::size_t group_bytes = 64;
    const std::size_t rows = shape.axis == 0 ? softmax_block : std::min(shape.axis, softmax_block);
    const std::size_t room = std::min(lane_tile_bytes / (rows * group_bytes), lane_groups);
    const std::size_t groups = divide_up(shape.inner, lanes) * shape.outer;
    const std::size_t share = threads == 1 ? groups : groups / (2 * threads);
    return std::clamp<std::size_t>(share, 1, room) * lanes;
}

// Of outputs of rows side by side. 16 MB of them take four fifths of the time on one core of a Xeon and half on one of
// an EPYC where they go past the caches, but on 16 cores, which keep them, a tenth more.
bool goes_past_caches(std::size_t bytes, std::size_t threads) {
    constexpr std::size_t kept_by_a_thread = std::size_t{2} << 20;
    return bytes >= threads * kept_by_a_thread;
}

} // namespace

bool is_lone_row(const Shape &shape) {
    return shape.inner == 1 && shape.axis_stride == 1 && shape.axis >= shortest_lone_row;
}

SoftmaxJob softmax_job(const SoftmaxProblem &problem, const SoftmaxKernel &kernel, std::size_t threads) {
    Shape shape = problem.shape;
    const bool rows = shape.inner == 1;
    const auto axis = static_cast<std::ptrdiff_t>(shape.axis), inner = static_cast<std::ptrdiff_t>(shape.inner);
    make_inner_the_neighbours(shape);
    const bool ragged = problem.selection.ragged;
    const bool lone = ragged || is_lone_row(problem.shape);
    return {problem.input,
            problem.output,
            problem.logsumexp,
            problem.maximum,
            shape,
            axis * inner,
            inner,
            rows ? axis : 1,
            lone ? Access::rows : Access::gathered,
            panels_of(shape, lone ? 1 : lanes_at_once(shape, kernel.lanes, threads)),
            problem.dtype,
            problem.output_dtype,
            problem.logsumexp_dtype,
            problem.log,
            problem.empty_row_zero,
            problem.scale,
            problem.selection,
            problem.shape.inner,
            0,
            problem.scales,
            goes_past_caches(problem.shape.outer * problem.shape.axis * problem.shape.inner *
                                 traits_of(problem.output_dtype).size,
                             threads)};
}

} // namespace wr::host
