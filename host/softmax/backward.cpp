// The gradient of softmax: how its work is divided, and running it.
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

// Of all rows of a panel together; of one row a multiple of softmax's block.
constexpr std::size_t shortest_piece = std::size_t{1} << 13;

// How long a byte takes, in bytes that are only read.
constexpr std::size_t cost = 4;

// Where threads share neighbouring rows, their panels are no narrower, in groups: memory comes in longer runs than a
// cache line.
constexpr std::size_t fewest_shared_groups = 4;

// What a thread's caches keep of gradients of rows side by side. 16 MB of them take half the time past the caches on
// one core of an EPYC and four fifths on 1 or 16 of a Xeon; what a caller is about to read again stays near.
constexpr std::size_t cached_bytes = std::size_t{1} << 20;

// Rows that are neighbours in all arrays go side by side, in panels as wide as leave every thread some.
std::size_t panel_width(const SoftmaxBackwardProblem &problem, const SoftmaxBackwardKernel &kernel,
                        std::size_t threads) {
    const Shape &s = problem.shape;
    if (problem.selection.ragged || s.inner == 1 || s.inner_stride != 1 || problem.gradient_inner_stride != 1) {
        return 1;
    }
    const std::size_t rows_each = divide_up(s.outer * s.inner, threads == 1 ? 1 : 2 * threads);
    const std::size_t fewest = fewest_shared_groups * kernel.lanes;
    return std::clamp(rows_each / kernel.lanes * kernel.lanes, fewest, kernel.most_lanes);
}

SoftmaxBackwardJob job_of(const SoftmaxBackwardProblem &problem, const SoftmaxBackwardKernel &kernel,
                          std::size_t threads) {
    const auto axis = static_cast<std::ptrdiff_t>(problem.shape.axis);
    const auto inner = static_cast<std::ptrdiff_t>(problem.shape.inner);
    const Shape &s = problem.shape;
    const std::size_t elements = problem.selection.ragged ? s.axis : s.outer * s.inner * s.axis;
    return {problem,
            axis * inner,
            inner,
            1,
            panels_of(s, panel_width(problem, kernel, threads)),
            elements * traits_of(problem.input_gradient_dtype).size >= threads * cached_bytes};
}

Status run_panels(const SoftmaxBackwardKernel &kernel, const SoftmaxBackwardJob &job, std::size_t threads) {
    for_panels(job.problem.shape.outer * job.panels.per_outer, threads,
               [&](std::size_t first, std::size_t last) { kernel.panels(job, first, last); });
    return Status::success;
}

// All sums are formed before any gradient is written: the memory may be that of the output's gradient.
Status run_pieces(const SoftmaxBackwardKernel &kernel, const SoftmaxBackwardJob &job, const Pieces &pieces,
                  std::size_t threads) {
    const std::size_t panels = job.problem.shape.outer * job.panels.per_outer;
    const std::size_t piece_bytes = job.panels.width * kernel.sum_size;
    const std::size_t panel_bytes = pieces.count * piece_bytes;
    const std::unique_ptr<std::byte[]> sums(new (std::nothrow) std::byte[panels * panel_bytes]());
    if (sums == nullptr) {
        return run_panels(kernel, job, threads); // a panel is then one thread's
    }
    const auto first_of = [&](std::size_t task) { return task % pieces.count * pieces.length; };
    const auto length_of = [&](std::size_t task) {
        return std::min(pieces.length, job.problem.shape.axis - first_of(task));
    };
    parallel_for(panels * pieces.count, threads, [&](std::size_t task) {
        kernel.piece(job, task / pieces.count, first_of(task), length_of(task), sums.get() + task * piece_bytes);
    });
    for (std::size_t panel = 0; panel < panels; ++panel) {
        kernel.merge(pieces.count, job.panels.width, sums.get() + panel * panel_bytes);
    }
    parallel_for(panels * pieces.count, threads, [&](std::size_t task) {
        const std::size_t panel = task / pieces.count;
        kernel.write(job, panel, first_of(task), length_of(task), sums.get() + panel * panel_bytes);
    });
    return Status::success;
}

} // namespace

Status run_softmax_backward(const SoftmaxBackwardProblem &problem, const Kernels &kernels, std::size_t threads) {
    const SoftmaxBackwardKernel *kernel = kernels.softmax_backward(problem.dtype);
    if (kernel == nullptr) {
        return Status::unsupported;
    }
    const Shape &shape = problem.shape;
    if (shape.outer == 0 || shape.inner == 0 || shape.axis == 0) {
        return Status::success;
    }
    const SoftmaxBackwardJob job = job_of(problem, *kernel, threads);
    const FloatEnvironment environment;
    const Pieces pieces = problem.selection.ragged
                              ? Pieces{shape.axis, 1}
                              : pieces_for(shape.axis, shape.outer * job.panels.per_outer, threads,
                                           std::bit_ceil(divide_up(shortest_piece, job.panels.width)));
    return pieces.count > 1 ? run_pieces(*kernel, job, pieces, threads) : run_panels(*kernel, job, threads);
}

Status softmax_backward(const SoftmaxBackwardProblem &problem) {
    const Shape &shape = problem.shape;
    const bool ragged = problem.selection.ragged;
    const std::size_t elements = ragged ? shape.axis : shape.outer * shape.inner * shape.axis;
    const std::size_t bytes =
        elements * (traits_of(problem.dtype).size + std::size_t{1} + traits_of(problem.output_gradient_dtype).size);
    return run_softmax_backward(problem, best_kernels(), threads_for(cost * bytes));
}

} // namespace wr::host
