// Puts a softmax on a stream.
#include "numerics/softmax.h"
#include "cuda/gpu.h"
#include "cuda/launch.h"
#include "cuda/softmax_kernels.h"
#include "cuda/tuning.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

constexpr std::size_t vector_bytes = 16;
constexpr std::size_t warp_lanes = 32;
constexpr std::size_t long_row_threads = 256;
constexpr std::size_t long_row_warps = long_row_threads / warp_lanes;
constexpr std::size_t column_threads = 128;
constexpr std::size_t most_register_blocks = 32; // a row of 32 base blocks is a block of 1024 threads
constexpr std::size_t most_blocks_a_warp = 32;   // a warp keeps one state a lane

enum class Regime { registers, long_rows, columns };

struct SoftmaxPlan {
    Regime regime;
    std::size_t blocks; // base blocks of a row
    std::size_t pieces; // states of a row; 0 where none is stored
    std::size_t blocks_a_warp;
};

SoftmaxPlan plan_softmax(const Shape &s, GpuFacts gpu) {
    SoftmaxPlan plan{Regime::registers, divide_up(s.axis, softmax_block), 0, 1};
    if (s.inner > 1) {
        plan.regime = Regime::columns;
        plan.pieces = plan.blocks;
    } else if (plan.blocks > most_register_blocks) {
        plan.regime = Regime::long_rows;
        const auto multiprocessors =
            static_cast<std::size_t>(std::min(gpu.multiprocessors, tuning::most_multiprocessors));
        const std::size_t wanted = multiprocessors * tuning::softmax_blocks_a_multiprocessor;
        const std::size_t pieces_of_one = divide_up(plan.blocks, long_row_warps);
        while (plan.blocks_a_warp < most_blocks_a_warp &&
               s.outer * divide_up(pieces_of_one, plan.blocks_a_warp * 2) >= wanted) {
            plan.blocks_a_warp *= 2;
        }
        plan.pieces = divide_up(pieces_of_one, plan.blocks_a_warp);
    }
    return plan;
}

// Rows without elements are rows wherever the axis stands.
SoftmaxProblem normalised(SoftmaxProblem problem) {
    Shape &s = problem.shape;
    if (s.axis == 0) {
        s = {s.outer * s.inner, 0, 1, 0, 1, 1};
    }
    return problem;
}

std::size_t workspace_bytes(const Shape &s, const SoftmaxPlan &plan) {
    return plan.pieces == 0 ? 0 : s.outer * s.inner * (plan.pieces + 1) * sizeof(StoredState);
}

bool rows_are_vectors(const SoftmaxProblem &problem, std::size_t element_bytes) {
    const Shape &s = problem.shape;
    const std::size_t elements = vector_bytes / element_bytes;
    const bool row_starts = s.outer <= 1 || s.outer_stride % static_cast<std::ptrdiff_t>(elements) == 0;
    return problem.output_dtype == problem.dtype && s.axis_stride == 1 && s.axis % elements == 0 && row_starts &&
           reinterpret_cast<std::uintptr_t>(problem.input) % vector_bytes == 0 &&
           reinterpret_cast<std::uintptr_t>(problem.output) % vector_bytes == 0;
}

SoftmaxArguments arguments_of(const SoftmaxProblem &problem, const SoftmaxPlan &plan) {
    const Shape &s = problem.shape;
    SoftmaxArguments a{};
    a.input = problem.input;
    a.output = problem.output;
    a.logsumexp = problem.logsumexp;
    a.outer = s.outer;
    a.axis = s.axis;
    a.inner = s.inner;
    a.outer_stride = s.outer_stride;
    a.axis_stride = s.axis_stride;
    a.inner_stride = s.inner_stride;
    a.pieces = plan.pieces;
    a.blocks_a_warp = static_cast<std::int32_t>(plan.blocks_a_warp);
    a.scale = problem.scale;
    a.output_type = problem.output_dtype;
    a.scaled = problem.scale != 1.0;
    a.log = problem.log;
    a.empty_row_zero = problem.empty_row_zero;
    return a;
}

// The part of the job that starts `rows` rows further on.
void skip_rows(SoftmaxArguments &a, std::size_t rows, int element_bytes) {
    const auto count = static_cast<std::ptrdiff_t>(rows);
    a.input = static_cast<const char *>(a.input) + count * a.outer_stride * element_bytes;
    a.output = static_cast<char *>(a.output) + rows * a.axis * traits_of(a.output_type).size;
    if (a.logsumexp != nullptr) {
        const std::size_t bytes = element_bytes == sizeof(double) ? sizeof(double) : sizeof(float);
        a.logsumexp = static_cast<char *>(a.logsumexp) + rows * bytes;
    }
    a.outer -= rows;
}

cudaError_t launch_registers(const SoftmaxKernels &kernels, const SoftmaxRowKernels &rows, SoftmaxArguments a,
                             std::size_t row_blocks, cudaStream_t stream) {
    const std::size_t row_threads = std::max<std::size_t>(row_blocks, 1) * warp_lanes;
    int size = 0;
    while (static_cast<std::size_t>(softmax_block_threads[size]) < row_threads) {
        ++size;
    }
    const auto small_block = static_cast<std::size_t>(softmax_block_threads[0]);
    const std::size_t rows_a_block = std::max<std::size_t>(small_block / row_threads, 1);
    for (;;) {
        SoftmaxArguments part = a;
        part.outer = std::min(a.outer, most_blocks * rows_a_block);
        const Launch how{rows.rows[a.log ? 1 : 0][size], divide_up(part.outer, rows_a_block),
                         static_cast<int>(row_threads), static_cast<int>(rows_a_block)};
        const cudaError_t error = launch(how, &part, stream);
        if (error != cudaSuccess || part.outer == a.outer) {
            return error;
        }
        skip_rows(a, part.outer, kernels.element_bytes);
    }
}

// Blocks for kernels whose blocks go on to further jobs where the grid is smaller than the job.
std::size_t blocks_for(std::size_t jobs, std::size_t jobs_a_block) {
    return std::min(divide_up(jobs, jobs_a_block), most_blocks);
}

cudaError_t launch_long_rows(const SoftmaxKernels &kernels, const SoftmaxRowKernels &rows, SoftmaxArguments a,
                             std::size_t row_blocks, bool dependent, cudaStream_t stream) {
    constexpr int threads = static_cast<int>(long_row_threads);
    cudaError_t error = launch({rows.piece_states, blocks_for(a.outer * a.pieces, 1), threads}, &a, stream);
    if (error == cudaSuccess) {
        error = launch({kernels.totals, blocks_for(a.outer, long_row_warps), threads, 1, 1, dependent}, &a, stream);
    }
    if (error == cudaSuccess) {
        error = launch(
            {rows.apply[a.log ? 1 : 0], blocks_for(a.outer * row_blocks, long_row_warps), threads, 1, 1, dependent}, &a,
            stream);
    }
    return error;
}

cudaError_t launch_columns(const SoftmaxKernels &kernels, SoftmaxArguments a, bool dependent, cudaStream_t stream) {
    constexpr int threads = static_cast<int>(column_threads);
    const std::size_t rows = a.outer * a.inner;
    const std::size_t blocks = blocks_for(rows * a.pieces, column_threads);
    cudaError_t error = launch({kernels.column_states, blocks, threads}, &a, stream);
    if (error == cudaSuccess) {
        error = launch(
            {kernels.totals, blocks_for(rows, long_row_warps), static_cast<int>(long_row_threads), 1, 1, dependent}, &a,
            stream);
    }
    if (error == cudaSuccess) {
        error = launch({kernels.column_apply, blocks, threads, 1, 1, dependent}, &a, stream);
    }
    return error;
}

} // namespace

std::size_t softmax_workspace_bytes(const SoftmaxProblem &problem) {
    constexpr GpuFacts most_demanding_gpu{tuning::most_multiprocessors, 0, false};
    const Shape shape = normalised(problem).shape;
    return workspace_bytes(shape, plan_softmax(shape, most_demanding_gpu));
}

std::int32_t softmax(const SoftmaxProblem &asked, void *stream_handle) {
    const SoftmaxProblem problem = normalised(asked);
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const SoftmaxKernels *kernels = find_softmax_kernels(problem.dtype);
    if (kernels == nullptr) {
        return static_cast<std::int32_t>(Status::unsupported);
    }
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    const SoftmaxPlan plan = plan_softmax(problem.shape, device.gpu());
    Workspace workspace(problem.workspace, workspace_bytes(problem.shape, plan), stream);
    if (workspace.error() != cudaSuccess) {
        return report(workspace.error());
    }
    SoftmaxArguments a = arguments_of(problem, plan);
    const bool dependent = device.gpu().dependent_launch;
    const std::size_t rows = a.outer * a.inner;
    if (plan.pieces != 0) {
        a.totals = static_cast<StoredState *>(workspace.take(rows * sizeof(StoredState)));
        a.states = static_cast<StoredState *>(workspace.take(rows * plan.pieces * sizeof(StoredState)));
    }
    const bool vectors = rows_are_vectors(problem, static_cast<std::size_t>(kernels->element_bytes));
    const SoftmaxRowKernels &row_kernels = vectors ? kernels->vectors : kernels->singles;
    cudaError_t launched = cudaSuccess;
    switch (plan.regime) {
    case Regime::registers:
        launched = launch_registers(*kernels, row_kernels, a, plan.blocks, stream);
        break;
    case Regime::long_rows:
        launched = launch_long_rows(*kernels, row_kernels, a, plan.blocks, dependent, stream);
        break;
    case Regime::columns:
        launched = launch_columns(*kernels, a, dependent, stream);
        break;
    }
    const cudaError_t freed = workspace.finish();
    return report(launched != cudaSuccess ? launched : freed);
}

const SoftmaxKernels *find_softmax_kernels(ElementType dtype) {
    switch (dtype) {
    case ElementType::f32:
        return &softmax_kernels<float>();
    case ElementType::f64:
        return &softmax_kernels<double>();
    case ElementType::f16:
        return &softmax_kernels<F16>();
    case ElementType::bf16:
        return &softmax_kernels<BF16>();
    default:
        return nullptr;
    }
}

} // namespace wr::cuda
