// The gradient of softmax: how its work is divided, and running it.
#include "host/common/float_environment.h"
#include "host/common/parallel.h"
#include "host/common/run.h"
#include "host/common/strips.h"
#include "host/host.h"

#include <algorithm>
#include <memory>
#include <new>

namespace wr::host {

namespace {

// A multiple of softmax's block.
constexpr std::size_t shortest_piece = std::size_t{1} << 13;

// How long a byte takes, in bytes that are only read.
constexpr std::size_t cost = 4;

SoftmaxBackwardJob job_of(const SoftmaxBackwardProblem &problem) {
    const auto axis = static_cast<std::ptrdiff_t>(problem.shape.axis);
    const auto inner = static_cast<std::ptrdiff_t>(problem.shape.inner);
    return {problem, axis * inner, inner, 1};
}

Status run_rows(const SoftmaxBackwardKernel &kernel, const SoftmaxBackwardJob &job, std::size_t rows,
                std::size_t threads) {
    const std::size_t tasks = threads == 1 ? 1 : std::min(rows, tasks_per_thread * threads);
    const std::size_t each = divide_up(rows, tasks);
    parallel_for(tasks, threads, [&](std::size_t task) {
        kernel.rows(job, std::min(task * each, rows), std::min((task + 1) * each, rows));
    });
    return Status::success;
}

// All sums are formed before any gradient is written: the memory may be that of the output's gradient.
Status run_pieces(const SoftmaxBackwardKernel &kernel, const SoftmaxBackwardJob &job, std::size_t rows,
                  const Pieces &pieces, std::size_t threads) {
    const std::size_t row_bytes = pieces.count * kernel.sum_size;
    const std::unique_ptr<std::byte[]> sums(new (std::nothrow) std::byte[rows * row_bytes]);
    if (sums == nullptr) {
        return run_rows(kernel, job, rows, threads); // a row is then one thread's
    }
    const auto first_of = [&](std::size_t task) { return task % pieces.count * pieces.length; };
    const auto length_of = [&](std::size_t task) {
        return std::min(pieces.length, job.problem.shape.axis - first_of(task));
    };
    parallel_for(rows * pieces.count, threads, [&](std::size_t task) {
        kernel.piece(job, task / pieces.count, first_of(task), length_of(task), sums.get() + task * kernel.sum_size);
    });
    for (std::size_t row = 0; row < rows; ++row) {
        kernel.merge(pieces.count, sums.get() + row * row_bytes);
    }
    parallel_for(rows * pieces.count, threads, [&](std::size_t task) {
        const std::size_t row = task / pieces.count;
        kernel.write(job, row, first_of(task), length_of(task), sums.get() + row * row_bytes);
    });
    return Status::success;
}

} // namespace

Status run_softmax_backward(const SoftmaxBackwardProblem &problem, const Kernels &kernels, std::size_t threads) {
    const SoftmaxBackwardKernel *kernel = kernels.softmax_backward(problem.dtype);
    if (kernel == nullptr) {
        return Status::unsupported;
    }
    const std::size_t rows = problem.shape.outer * problem.shape.inner;
    if (rows == 0 || problem.shape.axis == 0) {
        return Status::success;
    }
    const SoftmaxBackwardJob job = job_of(problem);
    const FloatEnvironment environment;
    const bool ragged = problem.selection.ragged;
    const Pieces pieces =
        ragged ? Pieces{problem.shape.axis, 1} : pieces_for(problem.shape.axis, rows, threads, shortest_piece);
    return pieces.count > 1 ? run_pieces(*kernel, job, rows, pieces, threads) : run_rows(*kernel, job, rows, threads);
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
