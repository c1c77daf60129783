// Puts a softmax with knobs on a stream: elements left out, ragged rows, f8 inputs, maxima, logsumexp alone.
#include "cuda/common/tuning.h"
#include "cuda/gpu.h"
#include "cuda/rowwise/strided_plan.h"
#include "cuda/softmax/columns/column_tile.h"
#include "cuda/softmax/logsumexp/logsumexp.h"
#include "cuda/softmax/ragged/rows.h"
#include "cuda/softmax/rows/masked_rows.h"
#include "cuda/softmax/splits.h"
#include "cuda/softmax/sub_warp/striped_rows.h"
#include "cuda/softmax/two_pass/columns.h"

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

// A call on its way to the stream.
struct GeneralCall {
    const GeneralKernels &kernels;
    const GeneralPlan &plan;
    const LogSumExpPlan &alone; // without units: not logsumexp alone
    const GpuFacts &gpu;
    cudaStream_t stream;
};

// Up to how many elements rows share a warp element by element, `other` being how else they would be done.
std::size_t longest_slot_row(const SoftmaxProblem &problem, bool vectors, const RowBlocksPlan &other) {
    const bool narrow = traits_of(problem.dtype).size == 2 && other.warps != 0;
    return vectors  ? tuning::softmax_slot_vector_row
           : narrow ? tuning::softmax_slot_narrow_row
                    : tuning::softmax_slot_row;
}

// Short rows, and longer ones that stay in registers, elements left out or not: `served` where they are such.
cudaError_t launch_selected_rows(const GeneralCall &call, const SoftmaxProblem &problem, bool *served) {
    *served = true;
    if (serves_selected_short(problem)) {
        return launch_selected_short(problem, call.gpu, call.stream);
    }
    const RowBlocksPlan registers = plan_selected_softmax(problem, call.gpu);
    const bool vectors = registers.warps != 0;
    const RowBlocksPlan plan = vectors ? registers : plan_softmax_anywhere(problem, call.gpu);
    const SlotLimits limits{vectors ? fewest_slot_rows(call.gpu) : 0, longest_slot_row(problem, vectors, plan)};
    if (call.alone.units == 0 && serves_slot_softmax(problem, limits)) {
        return launch_slot_softmax(problem, {}, call.gpu, call.stream);
    }
    *served = plan.warps != 0;
    return *served ? launch_selected_softmax(problem, plan, call.stream) : cudaSuccess;
}

// Ragged rows, of which several share a warp where they are short. Where not `served`, only these are done, and
// a.longer says which are left.
cudaError_t launch_uneven_rows(const GeneralCall &call, GeneralSoftmaxArguments &a, bool *served) {
    a.longer = rows_too_long_for_slots(a.problem, call.gpu);
    if (a.longer.least != 0) {
        const cudaError_t error = launch_slot_softmax(a.problem, a.longer, call.gpu, call.stream);
        if (error != cudaSuccess) {
            return error;
        }
    }
    const UnevenPlan uneven = plan_uneven_softmax(a.problem, a.longer, call.gpu);
    *served = uneven.warps != 0;
    return *served ? launch_uneven_softmax(a.problem, uneven, call.stream) : cudaSuccess;
}

// What is read once, element by element: `served` where it is.
cudaError_t launch_whole_rows(const GeneralCall &call, GeneralSoftmaxArguments &a, bool *served) {
    *served = false;
    if (call.alone.units != 0) {
        return cudaSuccess;
    }
    const cudaError_t of_columns = launch_short_columns(a.problem, call.gpu, call.stream, served);
    if (of_columns != cudaSuccess || *served) {
        return of_columns;
    }
    if (serves_slot_softmax(a.problem, any_slots)) {
        *served = true;
        return launch_slot_softmax(a.problem, {}, call.gpu, call.stream);
    }
    if (a.problem.output == nullptr) {
        return cudaSuccess;
    }
    const RowBlocksPlan whole = plan_whole_rows(call.kernels, a.problem.shape, a.problem.selection.ragged, call.gpu);
    *served = whole.warps != 0;
    if (!*served) {
        return cudaSuccess;
    }
    a.cluster_blocks = static_cast<std::int32_t>(whole.cluster_blocks);
    return launch_row_blocks(call.kernels.whole_rows, whole, call.plan.rows, &a, call.stream);
}

// What no kernels of logsumexp alone were made for.
cudaError_t launch_by_states(const GeneralCall &call, GeneralSoftmaxArguments &a) {
    const bool dependent = call.gpu.dependent_launch;
    cudaError_t error = cudaSuccess;
    if (serves_tall_states(a.problem)) {
        error = launch_tall_states(a.problem, a.states, dependent, call.stream);
    } else if (serves_shifted_states(a.problem, call.plan)) {
        error = launch_shifted_states(a.problem, call.plan, a.states, call.stream);
    } else {
        return launch_general(call.kernels, call.plan, a.problem.output != nullptr, a, call.stream);
    }
    return error == cudaSuccess ? launch_logsumexp_totals(call.kernels.totals, a, dependent, call.stream) : error;
}

// Of the states and totals of rows in pieces.
std::size_t bytes_taken(const GeneralCall &call, const SoftmaxProblem &problem) {
    if (call.alone.units != 0) {
        return logsumexp_workspace_bytes(problem, call.alone);
    }
    return call.plan.has_whole_columns() && !serves_tall_states(problem)
               ? 0
               : general_workspace_bytes(call.plan, sizeof(GeneralState));
}

// With memory for them.
cudaError_t launch_pieces(const GeneralCall &call, GeneralSoftmaxArguments &a) {
    const bool alone = call.alone.units != 0;
    const std::size_t bytes = bytes_taken(call, a.problem);
    Workspace workspace(a.problem, bytes, call.stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    a.pieces = alone ? call.alone.pieces : call.plan.pieces;
    a.blocks_a_warp = static_cast<std::int32_t>(call.plan.blocks_a_warp);
    if (bytes != 0) {
        a.totals = static_cast<GeneralState *>(workspace.take(call.plan.rows * sizeof(GeneralState)));
        a.states = static_cast<GeneralState *>(workspace.take(call.plan.rows * a.pieces * sizeof(GeneralState)));
    }
    const cudaError_t launched =
        alone ? launch_logsumexp(call.alone, call.kernels.totals, a, call.gpu.dependent_launch, call.stream)
              : launch_by_states(call, a);
    const cudaError_t freed = workspace.finish();
    return launched != cudaSuccess ? launched : freed;
}

cudaError_t launch_call(const GeneralCall &call, GeneralSoftmaxArguments &a) {
    bool served = false;
    cudaError_t error = launch_selected_rows(call, a.problem, &served);
    if (error == cudaSuccess && !served) {
        error = launch_uneven_rows(call, a, &served);
    }
    if (error == cudaSuccess && !served) {
        error = launch_whole_rows(call, a, &served);
    }
    return error != cudaSuccess || served ? error : launch_pieces(call, a);
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
    const LogSumExpPlan alone = plan_logsumexp(a.problem);
    return report(launch_call({kernels_of(asked.dtype), plan, alone, device.gpu(), stream}, a));
}

} // namespace wr::cuda
