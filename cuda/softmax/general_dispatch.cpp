#include "cuda/softmax/launches.h"

#include "cuda/common/launch.h"
#include "cuda/rowwise/row_plan.h"
#include "cuda/softmax/columns.h"
#include "cuda/softmax/policy.h"
#include "cuda/softmax/rows.h"

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
    const GpuFacts &gpu;
    cudaStream_t stream;
    StridedSoftmaxArguments a; // with the problem
};

bool is_any(const StridedCall &) { return true; }
bool is_ragged(const StridedCall &call) { return call.a.problem.selection.ragged; }

bool are_short_rows(const StridedCall &call) { return serves_masked_short(call.a.problem, call.gpu); }

bool share_warps_by_elements(const StridedCall &call) {
    return serves_striped_softmax(call.a.problem, any_slots, call.gpu);
}

bool wants_outputs(const StridedCall &call) { return call.a.problem.output != nullptr; }

cudaError_t put_short_rows(StridedCall &call, bool *) {
    return launch_masked_short(call.a.problem, call.gpu, call.stream);
}

// Up to how many elements rows share a warp element by element, `other` being how else they would be done.
std::size_t longest_striped_row(const SoftmaxProblem &problem, bool vectors, const RowTilesPlan &other,
                                const SoftmaxPolicy &policy) {
    const bool narrow = traits_of(problem.dtype).size == 2 && other.warps != 0;
    return vectors || narrow ? policy.blocked_narrow_axis : policy.blocked_axis;
}

// Rows in registers, by vectors or by elements.
cudaError_t put_rows_in_registers(StridedCall &call, bool *supported) {
    const SoftmaxProblem &problem = call.a.problem;
    const RowTilesPlan registers = plan_masked_rows(problem, call.gpu);
    const bool vectors = registers.warps != 0;
    const RowTilesPlan plan = vectors ? registers : plan_softmax_anywhere(problem, call.gpu);
    const StripedLimits limits{vectors ? fewest_striped_rows(call.gpu) : 0,
                               longest_striped_row(problem, vectors, plan, softmax_policy(call.gpu))};
    if (serves_striped_softmax(problem, limits, call.gpu)) {
        return launch_striped_softmax(problem, {}, call.gpu, call.stream);
    }
    return launch_planned_masked_rows(problem, plan, call.gpu, call.stream, supported);
}

// Where several short ones are to share a warp, a.longer says which the others are, and only these are put here.
cudaError_t put_ragged_rows(StridedCall &call, bool *supported) {
    StridedSoftmaxArguments &a = call.a;
    a.longer = rows_too_long_for_slots(a.problem, call.gpu);
    const RaggedPlan plan = plan_ragged_softmax(a.problem, a.longer, call.gpu);
    *supported = plan.warps != 0;
    return *supported ? launch_ragged_softmax(a.problem, plan, call.gpu, call.stream) : cudaSuccess;
}

cudaError_t put_column_tiles(StridedCall &call, bool *supported) {
    return launch_column_tiles(call.a.problem, call.gpu, call.stream, supported);
}

cudaError_t put_striped(StridedCall &call, bool *) {
    return launch_striped_softmax(call.a.problem, {}, call.gpu, call.stream);
}

// A tile a warp, element by element.
cudaError_t put_whole_rows(StridedCall &call, bool *supported) {
    const SoftmaxProblem &problem = call.a.problem;
    const RowTilesPlan whole = plan_whole_rows(call.kernels, problem.shape, problem.selection.ragged, call.gpu);
    *supported = whole.warps != 0;
    call.a.cluster_blocks = static_cast<std::int32_t>(whole.cluster_blocks);
    return *supported ? launch_row_tiles(call.kernels.whole_rows, whole, call.plan.rows, &call.a, call.stream)
                      : cudaSuccess;
}

// The launch that makes rows' logsumexp of the states of their splits.
cudaError_t launch_totals(const StridedCall &call, StridedSoftmaxArguments &a) {
    const std::size_t rows = a.problem.shape.outer * a.problem.shape.inner;
    const auto rows_a_block =
        std::size_t{strided_block_warps} * static_cast<std::size_t>(rows_of_totals_warp(a.splits));
    return launch({.kernel = call.kernels.totals,
                   .blocks = std::min(divide_up(rows, rows_a_block), most_blocks),
                   .threads = strided_block_threads,
                   .dependent = call.gpu.dependent_launch},
                  &a, call.stream);
}

cudaError_t launch_by_states(const StridedCall &call, StridedSoftmaxArguments &a) {
    if (!serves_two_pass_column_states(a.problem)) {
        return launch_strided(call.kernels, call.plan, a.problem.output != nullptr, a, call.stream);
    }
    const cudaError_t error =
        launch_two_pass_column_states(a.problem, a.states, call.gpu.dependent_launch, call.stream);
    return error == cudaSuccess ? launch_totals(call, a) : error;
}

// Of the states and totals of rows in splits.
std::size_t bytes_taken(const StridedCall &call, const SoftmaxProblem &problem) {
    return call.plan.has_whole_columns() && !serves_two_pass_column_states(problem)
               ? 0
               : general_workspace_bytes(call.plan, sizeof(StoredState));
}

// With memory for them.
cudaError_t put_splits(StridedCall &call, bool *) {
    StridedSoftmaxArguments &a = call.a;
    const std::size_t bytes = bytes_taken(call, a.problem);
    Workspace workspace(a.problem, bytes, call.stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    a.splits = call.plan.splits;
    a.tiles_a_warp = static_cast<std::int32_t>(call.plan.tiles_a_warp);
    if (bytes != 0) {
        a.totals = static_cast<StoredState *>(workspace.take(call.plan.rows * sizeof(StoredState)));
        a.states = static_cast<StoredState *>(workspace.take(call.plan.rows * a.splits * sizeof(StoredState)));
    }
    const cudaError_t launched = launch_by_states(call, a);
    const cudaError_t freed = workspace.finish();
    return launched != cudaSuccess ? launched : freed;
}

constexpr Rule<StridedCall> general_rules[] = {
    {are_short_rows, put_short_rows},       // that touch, masked or not
    {is_any, put_rows_in_registers},        // of neighbouring elements
    {is_ragged, put_ragged_rows},           // short ones share warps
    {is_any, put_column_tiles},             // short columns
    {share_warps_by_elements, put_striped}, // short rows and columns of any types
    {wants_outputs, put_whole_rows},        // in registers, element by element
    {is_any, put_splits},                   // columns, and what is read twice
};

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
    return general_workspace_bytes(plan_general(p.shape, p.selection.ragged), sizeof(StoredState));
}

cudaError_t launch_general_softmax(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream) {
    const StridedPlan plan = plan_general(problem.shape, problem.selection.ragged);
    StridedCall call{kernels_of(problem.dtype), plan, gpu, stream, {}};
    call.a.problem = problem;
    const cudaError_t error = put_by(general_rules, call);
    // The short ragged rows come last: the others may want memory, and nothing may be written before there is some.
    return error == cudaSuccess && call.a.longer.least != 0
               ? launch_striped_softmax(problem, call.a.longer, gpu, stream)
               : error;
}

} // namespace wr::cuda
