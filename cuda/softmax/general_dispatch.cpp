#include "cuda/softmax/general_dispatch.h"

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

const StridedKernels &kernels_of(ElementType dtype) {
    return dtype == ElementType::f64   ? strided_softmax_kernels_f64()
           : dtype == ElementType::f32 ? strided_softmax_kernels_f32()
                                       : strided_softmax_kernels_narrow();
}

// A call on its way to the stream.
struct StridedCall {
    const StridedKernels &kernels;
    const StridedPlan &plan;
    const LogSumExpPlan &alone; // without units: not logsumexp alone
    const GpuFacts &gpu;
    cudaStream_t stream;
};

// Up to how many elements rows share a warp element by element, `other` being how else they would be done.
std::size_t longest_striped_row(const SoftmaxProblem &problem, bool vectors, const RowTilesPlan &other) {
    const bool narrow = traits_of(problem.dtype).size == 2 && other.warps != 0;
    return vectors ? softmax_striped_vector_row : narrow ? softmax_striped_narrow_row : softmax_striped_row;
}

// Short rows, and longer ones that stay in registers, elements left out or not: `served` where they are such.
cudaError_t launch_masked_rows(const StridedCall &call, const SoftmaxProblem &problem, bool *served) {
    *served = true;
    if (serves_masked_short(problem)) {
        return launch_masked_short(problem, call.gpu, call.stream);
    }
    const RowTilesPlan registers = plan_masked_rows(problem, call.gpu);
    const bool vectors = registers.warps != 0;
    const RowTilesPlan plan = vectors ? registers : plan_softmax_anywhere(problem, call.gpu);
    const StripedLimits limits{vectors ? fewest_striped_rows(call.gpu) : 0,
                               longest_striped_row(problem, vectors, plan)};
    if (call.alone.units == 0 && serves_striped_softmax(problem, limits)) {
        return launch_striped_softmax(problem, {}, call.gpu, call.stream);
    }
    *served = plan.warps != 0;
    return *served ? launch_planned_masked_rows(problem, plan, call.stream) : cudaSuccess;
}

// Ragged rows, of which several share a warp where they are short. Where not `served`, only these are done, and
// a.longer says which are left.
cudaError_t launch_ragged_rows(const StridedCall &call, StridedSoftmaxArguments &a, bool *served) {
    a.longer = rows_too_long_for_slots(a.problem, call.gpu);
    if (a.longer.least != 0) {
        const cudaError_t error = launch_striped_softmax(a.problem, a.longer, call.gpu, call.stream);
        if (error != cudaSuccess) {
            return error;
        }
    }
    const RaggedPlan ragged_plan = plan_ragged_softmax(a.problem, a.longer, call.gpu);
    *served = ragged_plan.warps != 0;
    return *served ? launch_ragged_softmax(a.problem, ragged_plan, call.stream) : cudaSuccess;
}

// What is read once, element by element: `served` where it is.
cudaError_t launch_whole_rows(const StridedCall &call, StridedSoftmaxArguments &a, bool *served) {
    *served = false;
    if (call.alone.units != 0) {
        return cudaSuccess;
    }
    const cudaError_t of_columns = launch_column_tiles(a.problem, call.gpu, call.stream, served);
    if (of_columns != cudaSuccess || *served) {
        return of_columns;
    }
    if (serves_striped_softmax(a.problem, any_slots)) {
        *served = true;
        return launch_striped_softmax(a.problem, {}, call.gpu, call.stream);
    }
    if (a.problem.output == nullptr) {
        return cudaSuccess;
    }
    const RowTilesPlan whole = plan_whole_rows(call.kernels, a.problem.shape, a.problem.selection.ragged, call.gpu);
    *served = whole.warps != 0;
    if (!*served) {
        return cudaSuccess;
    }
    a.cluster_blocks = static_cast<std::int32_t>(whole.cluster_blocks);
    return launch_row_tiles(call.kernels.whole_rows, whole, call.plan.rows, &a, call.stream);
}

// What no kernels of logsumexp alone were made for.
cudaError_t launch_by_states(const StridedCall &call, StridedSoftmaxArguments &a) {
    const bool dependent = call.gpu.dependent_launch;
    cudaError_t error = cudaSuccess;
    if (serves_two_pass_column_states(a.problem)) {
        error = launch_two_pass_column_states(a.problem, a.states, dependent, call.stream);
    } else if (serves_unaligned_states(a.problem, call.plan)) {
        error = launch_unaligned_states(a.problem, call.plan, a.states, call.stream);
    } else {
        return launch_strided(call.kernels, call.plan, a.problem.output != nullptr, a, call.stream);
    }
    return error == cudaSuccess ? launch_logsumexp_totals(call.kernels.totals, a, dependent, call.stream) : error;
}

// Of the states and totals of rows in pieces.
std::size_t bytes_taken(const StridedCall &call, const SoftmaxProblem &problem) {
    if (call.alone.units != 0) {
        return logsumexp_workspace_bytes(problem, call.alone);
    }
    return call.plan.has_whole_columns() && !serves_two_pass_column_states(problem)
               ? 0
               : general_workspace_bytes(call.plan, sizeof(StoredState));
}

// With memory for them.
cudaError_t launch_splits(const StridedCall &call, StridedSoftmaxArguments &a) {
    const bool alone = call.alone.units != 0;
    const std::size_t bytes = bytes_taken(call, a.problem);
    Workspace workspace(a.problem, bytes, call.stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    a.splits = alone ? call.alone.splits : call.plan.splits;
    a.tiles_a_warp = static_cast<std::int32_t>(call.plan.tiles_a_warp);
    if (bytes != 0) {
        a.totals = static_cast<StoredState *>(workspace.take(call.plan.rows * sizeof(StoredState)));
        a.states = static_cast<StoredState *>(workspace.take(call.plan.rows * a.splits * sizeof(StoredState)));
    }
    const cudaError_t launched =
        alone ? launch_logsumexp(call.alone, call.kernels.totals, a, call.gpu.dependent_launch, call.stream)
              : launch_by_states(call, a);
    const cudaError_t freed = workspace.finish();
    return launched != cudaSuccess ? launched : freed;
}

cudaError_t launch_call(const StridedCall &call, StridedSoftmaxArguments &a) {
    bool served = false;
    cudaError_t error = launch_masked_rows(call, a.problem, &served);
    if (error == cudaSuccess && !served) {
        error = launch_ragged_rows(call, a, &served);
    }
    if (error == cudaSuccess && !served) {
        error = launch_whole_rows(call, a, &served);
    }
    return error != cudaSuccess || served ? error : launch_splits(call, a);
}

} // namespace

SoftmaxProblem normalised(SoftmaxProblem problem) {
    Shape &s = problem.shape;
    if (s.axis == 0 && !problem.selection.ragged) {
        s = {s.outer * s.inner, 0, 1, 0, 1, 1};
        problem.selection = {};
    }
    return problem;
}

std::size_t general_softmax_workspace_bytes(const SoftmaxProblem &p) {
    return std::max(general_workspace_bytes(plan_general(p.shape, p.selection.ragged), sizeof(StoredState)),
                    logsumexp_workspace_bytes(p, plan_logsumexp(p)));
}

cudaError_t launch_general_softmax(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream) {
    StridedSoftmaxArguments a{};
    a.problem = problem;
    const StridedPlan plan = plan_general(problem.shape, problem.selection.ragged);
    const LogSumExpPlan alone = plan_logsumexp(problem);
    return launch_call({kernels_of(problem.dtype), plan, alone, gpu, stream}, a);
}

} // namespace wr::cuda
