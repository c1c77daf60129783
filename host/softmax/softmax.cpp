// Softmax: which kernel, how its work is divided, and running it.
#include "numerics/softmax.h"
#include "host/common/float_environment.h"
#include "host/common/panels.h"
#include "host/common/parallel.h"
#include "host/common/run.h"
#include "host/host.h"
#include "host/softmax/job.h"

#include <algorithm>
#include <memory>
#include <new>

namespace wr::host {

namespace {

// Of the shortest piece of a row. A multiple of the block.
constexpr std::size_t piece_of_row = 4 * softmax_block, piece_of_columns = softmax_block;

// How long a byte takes, in bytes that are only read: of rows alone, and side by side.
constexpr std::size_t cost_of_rows = 4, cost_of_lanes = 8;

// Of ragged rows: up to the last offset.
std::size_t elements_of(const SoftmaxProblem &problem) {
    const Selection &selection = problem.selection;
    return static_cast<std::size_t>(load_integer(selection.offsets_type, selection.offsets, problem.shape.outer));
}

// Rows side by side whose panels suffice are not cut: a piece's elements would be read a second time by whichever
// thread comes first.
Pieces pieces_of(const SoftmaxJob &job, std::size_t threads) {
    const std::size_t panels = job.shape.outer * job.panels.per_outer;
    if (job.access == Access::rows) {
        return pieces_for(job.shape.axis, panels, threads, piece_of_row);
    }
    return panels >= 2 * threads ? Pieces{job.shape.axis, 1}
                                 : pieces_for(job.shape.axis, panels, threads, piece_of_columns);
}

Status run_panels(const SoftmaxKernel &kernel, const SoftmaxJob &job, std::size_t threads) {
    for_panels(job.shape.outer * job.panels.per_outer, threads,
               [&](std::size_t first, std::size_t last) { kernel.softmax(job, first, last); });
    return Status::success;
}

// All of the input is read before any output is written: the two may be the same memory.
Status run_pieces(const SoftmaxKernel &kernel, const SoftmaxJob &job, const Pieces &pieces, std::size_t threads) {
    const std::size_t panels = job.shape.outer * job.panels.per_outer;
    const std::size_t piece_bytes = job.panels.width * kernel.state_size;
    const std::unique_ptr<std::byte[]> states(new (std::nothrow) std::byte[panels * (pieces.count + 1) * piece_bytes]);
    if (states == nullptr) {
        return run_panels(kernel, job, threads); // a panel is then one thread's
    }
    const auto states_of = [&](std::size_t task) { return states.get() + task * piece_bytes; };
    const auto whole = [&](std::size_t panel) { return states_of(panels * pieces.count + panel); };
    const auto first_of = [&](std::size_t task) { return task % pieces.count * pieces.length; };
    const auto length_of = [&](std::size_t task) { return std::min(pieces.length, job.shape.axis - first_of(task)); };
    parallel_for(panels * pieces.count, threads, [&](std::size_t task) {
        kernel.piece(job, task / pieces.count, first_of(task), length_of(task), states_of(task));
    });
    for (std::size_t panel = 0; panel < panels; ++panel) {
        kernel.merge(job, panel, pieces.count, states_of(panel * pieces.count), whole(panel));
    }
    if (job.output == nullptr) {
        return Status::success;
    }
    parallel_for(panels * pieces.count, threads, [&](std::size_t task) {
        const std::size_t panel = task / pieces.count;
        kernel.write(job, panel, first_of(task), length_of(task), whole(panel), states_of(task));
    });
    return Status::success;
}

} // namespace

Status run_softmax(const SoftmaxProblem &problem, const Kernels &kernels, std::size_t threads) {
    const SoftmaxKernel *kernel = kernels.softmax(problem.dtype);
    if (kernel == nullptr) {
        return Status::unsupported;
    }
    if (problem.shape.outer == 0 || problem.shape.inner == 0) {
        return Status::success;
    }
    const SoftmaxJob job = softmax_job(problem, *kernel, threads);
    const FloatEnvironment environment;
    const bool ragged = problem.selection.ragged;
    const Pieces pieces = ragged ? Pieces{job.shape.axis, 1} : pieces_of(job, threads);
    return pieces.count > 1 ? run_pieces(*kernel, job, pieces, threads) : run_panels(*kernel, job, threads);
}

Status softmax(const SoftmaxProblem &problem) {
    const Shape &shape = problem.shape;
    const bool ragged = problem.selection.ragged;
    const std::size_t elements = ragged ? elements_of(problem) : shape.outer * shape.inner * shape.axis;
    const std::size_t bytes =
        elements * (traits_of(problem.dtype).size + std::size_t{traits_of(problem.output_dtype).size});
    const std::size_t cost = are_lone_rows(problem) ? cost_of_rows : cost_of_lanes;
    return run_softmax(problem, best_kernels(), threads_for(cost * bytes));
}

} // namespace wr::host
