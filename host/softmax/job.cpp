#include "host/softmax/job.h"

#include "host/common/panels.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::host {

namespace {

// Rows so short are computed several at a time, but for so few that lanes without one take longer than they do alone.
constexpr std::size_t shortest_lone_row_of_few = 64, few_rows = 4, few_longer_rows = 16;

// Of rows that lie one behind the other, which need no long runs: what stays in the first-level cache.
constexpr std::size_t near_tile_bytes = 24 * 1024;

// Rows of several blocks, whose exponentials are computed a second time for their outputs, and rows of log-softmax,
// which are read again, need no more of the tile than goes from one step to the next.
bool are_read_again(const SoftmaxProblem &problem) {
    const bool are_neighbours = problem.shape.inner > 1 && problem.output != nullptr;
    return are_neighbours && (problem.log || problem.shape.axis > softmax_block);
}

// As many groups of lanes as there is room for; where threads would be without a panel, fewer.
std::size_t lanes_at_once(const SoftmaxProblem &problem, const Shape &shape, std::size_t lanes, std::size_t threads) {
    constexpr std::size_t group_bytes = 64;
    const std::size_t rows = shape.axis == 0 ? softmax_block : std::min(shape.axis, softmax_block);
    const std::size_t tile = problem.shape.inner == 1 ? near_tile_bytes : lane_tile_bytes;
    const std::size_t in_tile =
        are_read_again(problem) ? lane_groups : std::max<std::size_t>(tile / (rows * group_bytes), 1);
    const std::size_t levels = std::bit_width(divide_up(shape.axis, softmax_block));
    const std::size_t room =
        std::min({in_tile, lane_groups, lane_groups * block_levels / std::max<std::size_t>(levels, 1)});
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

bool are_lone_rows(const SoftmaxProblem &problem) {
    const Shape &shape = problem.shape;
    const bool are_runs = shape.inner == 1 && shape.axis_stride == 1;
    if (shape.axis < shortest_lone_row_of_few) {
        return problem.selection.ragged || (are_runs && shape.outer < few_rows);
    }
    const bool are_few = shape.outer < few_longer_rows || !leaves_nothing_out(problem.selection);
    return problem.selection.ragged || (are_runs && (are_few || shape.axis >= shortest_lone_row));
}

SoftmaxJob softmax_job(const SoftmaxProblem &problem, const SoftmaxKernel &kernel, std::size_t threads) {
    Shape shape = problem.shape;
    const bool rows = shape.inner == 1;
    const auto axis = static_cast<std::ptrdiff_t>(shape.axis), inner = static_cast<std::ptrdiff_t>(shape.inner);
    make_inner_the_neighbours(shape);
    const bool lone = are_lone_rows(problem);
    return {problem.input,
            problem.output,
            problem.logsumexp,
            problem.maximum,
            shape,
            axis * inner,
            inner,
            rows ? axis : 1,
            lone ? Access::rows : Access::gathered,
            panels_of(shape, lone ? 1 : lanes_at_once(problem, shape, kernel.lanes, threads)),
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
