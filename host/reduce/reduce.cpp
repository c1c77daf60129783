// Reductions: which kernel, how its work is divided, and running it.
#include "host/common/float_environment.h"
#include "host/common/panels.h"
#include "host/common/parallel.h"
#include "host/common/run.h"
#include "host/host.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>

namespace wr::host {

namespace {

// Below this many neighbours their vectors would be mostly empty.
constexpr std::size_t fewest_columns = 8;

constexpr std::size_t panel_rows = 64;
constexpr std::size_t panel_gathered = 16;

// Where threads share columns, their panels' rows are no shorter: memory comes in longer runs than a cache line.
constexpr std::size_t shared_row_bytes = 1024;

// Of the shortest piece.
constexpr std::size_t piece_elements = std::size_t{1} << 14;

// What an element takes that lies apart from its neighbours, in elements that do not.
constexpr std::size_t cost_of_gathered = 4;

Access access_of(const Shape &shape) {
    if (shape.axis_stride == 1 || shape.axis == 1) {
        return Access::rows;
    }
    return shape.inner_stride == 1 && shape.inner >= fewest_columns ? Access::columns : Access::gathered;
}

// As wide as the levels of its trees allow, and all of about one width, in whole cache lines.
std::size_t column_panel_width(const Shape &shape, std::size_t accumulator_size, std::size_t threads) {
    const std::size_t rows = static_cast<std::size_t>(std::bit_width(shape.axis)) + 3;
    const std::size_t line = 64 / accumulator_size;
    const std::size_t widest = threads == 1 ? widest_panel : shared_row_bytes;
    const std::size_t most = std::min(column_levels_bytes / rows, widest) / accumulator_size / line * line;
    return divide_up(divide_up(shape.inner, divide_up(shape.inner, most)), line) * line;
}

std::size_t panel_width(Access access, const Shape &shape, std::size_t accumulator_size, std::size_t threads) {
    switch (access) {
    case Access::columns:
        return column_panel_width(shape, accumulator_size, threads);
    case Access::gathered:
        return panel_gathered;
    case Access::rows:
        break;
    }
    return std::clamp<std::size_t>(shape.outer * shape.inner / (tasks_per_thread * threads), 1, panel_rows);
}

Status run_panels(const ReduceKernel &kernel, const ReduceJob &job, std::size_t threads) {
    for_panels(job.shape.outer * job.panels.per_outer, threads,
               [&](std::size_t first, std::size_t last) { kernel.reduce(job, first, last); });
    return Status::success;
}

Status run_pieces(const ReduceKernel &kernel, const ReduceJob &job, const Pieces &pieces, std::size_t threads) {
    const std::size_t panels = job.shape.outer * job.panels.per_outer;
    const std::size_t piece_bytes = job.panels.width * kernel.accumulator_size;
    const std::unique_ptr<std::byte[]> partial(new (std::nothrow) std::byte[panels * pieces.count * piece_bytes]);
    if (partial == nullptr) {
        return run_panels(kernel, job, threads); // a panel is then one thread's
    }
    parallel_for(panels * pieces.count, threads, [&](std::size_t task) {
        const std::size_t first = task % pieces.count * pieces.length;
        kernel.piece(job, task / pieces.count, first, std::min(pieces.length, job.shape.axis - first),
                     partial.get() + task * piece_bytes);
    });
    for (std::size_t panel = 0; panel < panels; ++panel) {
        kernel.merge(job, panel, pieces.count, partial.get() + panel * pieces.count * piece_bytes);
    }
    return Status::success;
}

} // namespace

Status run_reduce(const ReduceProblem &problem, const Kernels &kernels, std::size_t threads, bool as_state) {
    const ReduceKernel *kernel = kernels.reduce(problem.what);
    if (kernel == nullptr) {
        return Status::unsupported;
    }
    Shape shape = problem.shape;
    if (shape.outer == 0 || shape.inner == 0) {
        return Status::success;
    }
    make_inner_the_neighbours(shape);
    const Access access = access_of(shape);
    const ReduceJob job{problem.input,
                        problem.output,
                        shape,
                        access,
                        panels_of(shape, panel_width(access, shape, kernel->accumulator_size, threads)),
                        mapping_of(problem.what, problem.weights),
                        finish_of(problem.what, shape.axis, problem.values),
                        as_state};
    const FloatEnvironment environment;
    const std::size_t beside = access == Access::rows ? 1 : job.panels.width;
    const Pieces pieces = pieces_for(shape.axis, shape.outer * job.panels.per_outer, threads,
                                     std::bit_ceil(divide_up(piece_elements, beside)));
    return pieces.count > 1 ? run_pieces(*kernel, job, pieces, threads) : run_panels(*kernel, job, threads);
}

namespace {

Status reduce_as(const ReduceProblem &problem, bool as_state) {
    const Shape &shape = problem.shape;
    const std::size_t bytes =
        shape.outer * shape.inner * std::max<std::size_t>(shape.axis, 1) * traits_of(problem.what.dtype).size;
    const bool together = shape.axis_stride == 1 || shape.inner_stride == 1;
    return run_reduce(problem, best_kernels(), threads_for(together ? bytes : cost_of_gathered * bytes), as_state);
}

} // namespace

Status reduce(const ReduceProblem &problem) { return reduce_as(problem, false); }

Status reduce_to_accumulators(const ReduceProblem &problem) { return reduce_as(problem, true); }

} // namespace wr::host
