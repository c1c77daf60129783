// Puts the gradient of softmax on a stream.
#include "cuda/gpu.h"
#include "cuda/row_blocks_plan.h"
#include "cuda/softmax_backward_vectors.h"
#include "cuda/softmax_general_plan.h"
#include "cuda/tuning.h"

namespace wr::cuda {

namespace {

constexpr std::size_t vector_bytes = 16;
constexpr std::size_t warp_lanes = 32;

const BackwardVectorKernels *vector_kernels_of(ElementType dtype) {
    switch (dtype) {
    case ElementType::f32:
        return &backward_vector_kernels_f32();
    case ElementType::f16:
        return &backward_vector_kernels_f16();
    case ElementType::bf16:
        return &backward_vector_kernels_bf16();
    default:
        return nullptr;
    }
}

bool is_from_logits(const SoftmaxBackwardProblem &p) { return p.output == nullptr; }

const void *saved_array(const SoftmaxBackwardProblem &p) { return is_from_logits(p) ? p.input : p.output; }

// Whether all of the rows' elements take part, and rows are whole vectors of one type from what was saved to gradients.
bool has_vectors(const SoftmaxBackwardProblem &p, const BackwardVectorKernels *kernels) {
    const Selection &chosen = p.selection;
    const Shape &s = p.shape;
    if (kernels == nullptr || p.add_to_input_gradient || chosen.mask != nullptr || chosen.lengths != nullptr ||
        chosen.causal || chosen.ragged || s.inner != 1 || s.axis_stride != 1 || p.gradient_axis_stride != 1 ||
        p.output_gradient_dtype != p.dtype || p.input_gradient_dtype != p.dtype) {
        return false;
    }
    const std::size_t elements = vector_bytes / static_cast<std::size_t>(kernels->element_bytes);
    const auto is_aligned = [](const void *at) { return reinterpret_cast<std::uintptr_t>(at) % vector_bytes == 0; };
    const auto starts_aligned = [&](std::ptrdiff_t stride) {
        return s.outer == 1 || stride % static_cast<std::ptrdiff_t>(elements) == 0;
    };
    return s.axis % elements == 0 && starts_aligned(s.outer_stride) && starts_aligned(p.gradient_outer_stride) &&
           is_aligned(saved_array(p)) && is_aligned(p.output_gradient) && is_aligned(p.input_gradient);
}

// The kernel for blocks of so many warps along a row.
const void *kernel_of(const BackwardVectorKernels &kernels, bool from_logits, std::size_t warps) {
    int size = 0;
    while (static_cast<std::size_t>(backward_vector_warps[size]) < warps) {
        ++size;
    }
    return kernels.of[from_logits ? 1 : 0][size];
}

// Rows that are too long for the clusters that every GPU allows are shared by more blocks of threads.
cudaError_t plan_vectors(const BackwardVectorKernels &kernels, bool from_logits, const GeneralPlan &rows,
                         const GpuFacts &gpu, RowBlocksPlan *plan) {
    std::size_t most_warps = 0;
    for (int size = 0; size < backward_vector_sizes && kernels.of[0][size] != nullptr; ++size) {
        most_warps = static_cast<std::size_t>(backward_vector_warps[size]);
    }
    *plan = plan_row_blocks(rows.rows, rows.blocks, most_warps, tuning::softmax_cluster_warps, gpu);
    if (plan->warps != 0 || gpu.cluster_blocks == 0 || rows.blocks > backward_most_row_blocks) {
        return cudaSuccess;
    }
    GpuFacts wide = gpu;
    wide.cluster_blocks = static_cast<int>(tuning::softmax_wide_cluster_blocks);
    const RowBlocksPlan found = plan_row_blocks(rows.rows, rows.blocks, most_warps, most_warps, wide);
    if (found.warps == 0) {
        return cudaSuccess;
    }
    Launch how{kernel_of(kernels, from_logits, found.warps), found.cluster_blocks,
               static_cast<int>(found.warps * warp_lanes)};
    how.cluster_blocks = static_cast<int>(found.cluster_blocks);
    int resident = 0;
    const cudaError_t error = prepare_clusters(how, gpu, &resident);
    *plan = resident > 0 ? found : RowBlocksPlan{};
    return error;
}

cudaError_t launch_vectors(const BackwardVectorKernels &kernels, const SoftmaxBackwardProblem &problem,
                           const RowBlocksPlan &plan, cudaStream_t stream) {
    const Shape &s = problem.shape;
    BackwardVectorArguments a{saved_array(problem),
                              static_cast<const float *>(problem.logsumexp),
                              problem.output_gradient,
                              problem.input_gradient,
                              s.outer,
                              s.axis,
                              s.outer_stride,
                              problem.gradient_outer_stride,
                              static_cast<std::int32_t>(plan.cluster_blocks),
                              static_cast<float>(problem.scale),
                              problem.log,
                              problem.empty_row_zero};
    return launch_row_blocks(kernel_of(kernels, is_from_logits(problem), plan.warps), plan, s.outer, &a, stream);
}

} // namespace

std::size_t softmax_backward_workspace_bytes(const SoftmaxBackwardProblem &problem) {
    return general_workspace_bytes(plan_general(problem.shape, problem.selection.ragged), sizeof(double));
}

std::int32_t softmax_backward(const SoftmaxBackwardProblem &problem, void *stream_handle) {
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const GeneralPlan plan = plan_general(problem.shape, problem.selection.ragged);
    if (plan.rows == 0 || problem.shape.axis == 0) {
        return static_cast<std::int32_t>(Status::success);
    }
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    const BackwardVectorKernels *vectors = vector_kernels_of(problem.dtype);
    if (has_vectors(problem, vectors)) {
        RowBlocksPlan registers{};
        const cudaError_t error = plan_vectors(*vectors, is_from_logits(problem), plan, device.gpu(), &registers);
        if (error != cudaSuccess || registers.warps != 0) {
            return report(error != cudaSuccess ? error : launch_vectors(*vectors, problem, registers, stream));
        }
    }
    Workspace workspace(problem.workspace, general_workspace_bytes(plan, sizeof(double)), stream);
    if (workspace.error() != cudaSuccess) {
        return report(workspace.error());
    }
    SoftmaxBackwardArguments a{problem, nullptr, nullptr, plan.pieces, static_cast<std::int32_t>(plan.blocks_a_warp)};
    if (plan.pieces != 0) {
        a.totals = static_cast<double *>(workspace.take(plan.rows * sizeof(double)));
        a.sums = static_cast<double *>(workspace.take(plan.rows * plan.pieces * sizeof(double)));
    }
    const GeneralKernels &kernels =
        problem.dtype == ElementType::f64 ? softmax_backward_kernels_f64() : softmax_backward_kernels_f32();
    const cudaError_t launched = launch_general(kernels, plan, true, &a, stream);
    const cudaError_t freed = workspace.finish();
    return report(launched != cudaSuccess ? launched : freed);
}

} // namespace wr::cuda
