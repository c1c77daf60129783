// Puts a softmax with knobs on a stream: elements left out, ragged rows, f8 inputs, maxima, logsumexp alone.
#include "cuda/gpu.h"
#include "cuda/logsumexp.h"
#include "cuda/softmax_general_plan.h"
#include "cuda/softmax_pieces.h"
#include "cuda/softmax_selected_launch.h"
#include "cuda/softmax_slot_rows.h"
#include "cuda/softmax_tall_columns.h"
#include "cuda/softmax_uneven_launch.h"
#include "cuda/tuning.h"

namespace wr::cuda {

namespace {

// Rows without elements are rows wherever the axis stands.
SoftmaxProblem normalised(SoftmaxProblem problem) {
    Shape &s = problem.shape;
    if (s.axis == 0 && !problem.selection.ragged) {
        s = {s.outer * s.inner, 0, 1, 0, 1, 1};
        problem.selection = {};
    }
    return problem;
}

const GeneralKernels &kernels_of(ElementType dtype) {
    return dtype == ElementType::f64   ? general_softmax_kernels_f64()
           : dtype == ElementType::f32 ? general_softmax_kernels_f32()
                                       : general_softmax_kernels_narrow();
}

// What no kernels of logsumexp alone were made for.
cudaError_t launch_by_states(const GeneralKernels &kernels, const GeneralPlan &plan, GeneralSoftmaxArguments &a,
                             bool dependent, cudaStream_t stream) {
    cudaError_t error = cudaSuccess;
    if (serves_tall_states(a.problem)) {
        error = launch_tall_states(a.problem, a.states, dependent, stream);
    } else if (serves_shifted_states(a.problem, plan)) {
        error = launch_shifted_states(a.problem, plan, a.states, stream);
    } else {
        return launch_general(kernels, plan, a.problem.output != nullptr, a, stream);
    }
    return error == cudaSuccess ? launch_logsumexp_totals(kernels.totals, a, dependent, stream) : error;
}

} // namespace

std::size_t softmax_general_workspace_bytes(const SoftmaxProblem &problem) {
    const SoftmaxProblem p = normalised(problem);
    return std::max(general_workspace_bytes(plan_general(p.shape, p.selection.ragged), sizeof(GeneralState)),
                    logsumexp_workspace_bytes(p, plan_logsumexp(p)));
}

std::int32_t softmax_general(const SoftmaxProblem &asked, void *stream_handle) {
    GeneralSoftmaxArguments a{};
    a.problem = normalised(asked);
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const GeneralPlan plan = plan_general(a.problem.shape, a.problem.selection.ragged);
    if (plan.rows == 0) {
        return static_cast<std::int32_t>(Status::success);
    }
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    if (serves_selected_short(a.problem)) {
        return report(launch_selected_short(a.problem, device.gpu(), stream));
    }
    const LogSumExpPlan alone = plan_logsumexp(a.problem);
    const RowBlocksPlan registers = plan_selected_softmax(a.problem, device.gpu());
    const bool vectors = registers.warps != 0;
    if (alone.units == 0 &&
        serves_slot_softmax(a.problem, {vectors ? fewest_slot_rows(device.gpu()) : 0,
                                        vectors ? tuning::softmax_slot_vector_row : tuning::softmax_slot_row,
                                        tuning::softmax_slot_tall_tile})) {
        return report(launch_slot_softmax(a.problem, {}, device.gpu(), stream));
    }
    if (vectors) {
        return report(launch_selected_softmax(a.problem, registers, stream));
    }
    a.longer = rows_too_long_for_slots(a.problem, device.gpu());
    if (a.longer.least != 0) {
        const cudaError_t error = launch_slot_softmax(a.problem, a.longer, device.gpu(), stream);
        if (error != cudaSuccess) {
            return report(error);
        }
    }
    if (const UnevenPlan uneven = plan_uneven_softmax(a.problem, a.longer, device.gpu()); uneven.warps != 0) {
        return report(launch_uneven_softmax(a.problem, uneven, stream));
    }
    if (alone.units == 0 && !serves_tall_states(a.problem) && serves_slot_softmax(a.problem, any_slots)) {
        return report(launch_slot_softmax(a.problem, {}, device.gpu(), stream));
    }
    const GeneralKernels &kernels = kernels_of(asked.dtype);
    if (alone.units == 0 && a.problem.output != nullptr) {
        const RowBlocksPlan whole = plan_whole_rows(kernels, a.problem.shape, a.problem.selection.ragged, device.gpu());
        if (whole.warps != 0) {
            a.cluster_blocks = static_cast<std::int32_t>(whole.cluster_blocks);
            return report(launch_row_blocks(kernels.whole_rows, whole, plan.rows, &a, stream));
        }
    }
    const std::size_t bytes = alone.units != 0 ? logsumexp_workspace_bytes(a.problem, alone)
                                               : general_workspace_bytes(plan, sizeof(GeneralState));
    Workspace workspace(asked.workspace, bytes, stream);
    if (workspace.error() != cudaSuccess) {
        return report(workspace.error());
    }
    a.pieces = alone.units != 0 ? alone.pieces : plan.pieces;
    a.blocks_a_warp = static_cast<std::int32_t>(plan.blocks_a_warp);
    if (bytes != 0) {
        a.totals = static_cast<GeneralState *>(workspace.take(plan.rows * sizeof(GeneralState)));
        a.states = static_cast<GeneralState *>(workspace.take(plan.rows * a.pieces * sizeof(GeneralState)));
    }
    const bool dependent = device.gpu().dependent_launch;
    const cudaError_t launched = alone.units != 0 ? launch_logsumexp(alone, kernels.totals, a, dependent, stream)
                                                  : launch_by_states(kernels, plan, a, dependent, stream);
    const cudaError_t freed = workspace.finish();
    return report(launched != cudaSuccess ? launched : freed);
}

} // namespace wr::cuda
