// Puts the gradient of softmax on a stream.
#include "cuda/gpu.h"
#include "cuda/softmax_general_plan.h"

namespace wr::cuda {

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
