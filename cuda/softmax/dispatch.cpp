// Which kernels a softmax gets: a table for what is plain, and general_dispatch.cpp's for the rest.
#include "cuda/common/gpu_facts.h"
#include "cuda/common/launch.h"
#include "cuda/gpu.h"
#include "cuda/softmax/columns.h"
#include "cuda/softmax/launches.h"
#include "cuda/softmax/policy.h"
#include "cuda/softmax/rows.h"

#include <algorithm>

namespace wr::cuda {

namespace {

// How many rows and columns there have to be, and how short, for several to share a warp element by element.
StripedLimits striped_limits(const SoftmaxProblem &problem, const GpuFacts &gpu) {
    if (problem.shape.inner > 1) {
        return any_slots;
    }
    const bool wide = problem.dtype == ElementType::f32;
    const SoftmaxPolicy &policy = softmax_policy(gpu);
    return {fewest_striped_rows(gpu), wide ? policy.blocked_axis : policy.blocked_narrow_axis};
}

// Some rows go as others do of which elements are left out, but keep all of theirs: those of vectors into other types,
// and logarithms of f32 rows off the boundaries (1001, 8001 1095, 1192 us and, otherwise, 1215, 1374).
bool are_in_registers(const SoftmaxCall &call, std::size_t most_tiles) {
    return (call.plan.regime == SoftmaxRegime::registers || call.plan.regime == SoftmaxRegime::clusters) &&
           call.plan.tiles <= most_tiles;
}
bool are_converted(const SoftmaxCall &call) {
    const SoftmaxPolicy &policy = softmax_policy(call.gpu);
    return call.places == LoadPolicy::converted &&
           are_in_registers(call, traits_of(call.problem.dtype).size == 2 ? policy.masked_rows_narrow_tiles
                                                                          : policy.masked_rows_tiles);
}
bool are_unaligned_logarithms(const SoftmaxCall &call) {
    const SoftmaxProblem &p = call.problem;
    return p.log && p.dtype == ElementType::f32 && p.output_dtype == p.dtype && call.places == LoadPolicy::unaligned &&
           are_in_registers(call, softmax_policy(call.gpu).masked_rows_tiles);
}
RowTilesPlan plan_as_masked_rows(const SoftmaxCall &call) {
    return are_converted(call)              ? plan_masked_rows(call.problem, call.gpu)
           : are_unaligned_logarithms(call) ? plan_softmax_anywhere(call.problem, call.gpu)
                                            : RowTilesPlan{};
}

const SoftmaxRowKernels &row_kernels_of(const SoftmaxKernels &kernels, LoadPolicy places, bool converts) {
    switch (places) {
    case LoadPolicy::vectors:
        return kernels.vectors;
    case LoadPolicy::unaligned:
        return converts ? kernels.unaligned_converted : kernels.unaligned;
    case LoadPolicy::converted:
        return kernels.converted.rows;
    case LoadPolicy::strided: // columns, which are no rows
        break;
    }
    return kernels.vectors;
}

bool is_any(const SoftmaxCall &) { return true; }
bool are_rows(const SoftmaxCall &call) { return call.problem.shape.inner == 1; }
bool are_columns(const SoftmaxCall &call) { return !are_rows(call); }

// Rows whose elements lie apart, or of types that no kernel of whole vectors converts.
bool are_strided_rows(const SoftmaxCall &call) { return are_rows(call) && call.places == LoadPolicy::strided; }

// Maxima are written by some kernels alone.
bool have_no_plan(const SoftmaxCall &call) {
    return call.plan.regime == SoftmaxRegime::general || (call.problem.maximum != nullptr && !writes_maxima(call.plan));
}

bool share_warps_by_elements(const SoftmaxCall &call) {
    return call.plan.regime != SoftmaxRegime::short_rows &&
           serves_striped_softmax(call.problem, striped_limits(call.problem, call.gpu), call.gpu);
}

cudaError_t put_spread_rows(SoftmaxCall &call, bool *supported) {
    return launch_spread_rows(call.problem, call.gpu, call.stream, supported);
}

// Whether the logsumexp alone is wanted of rows that kernels of its own read quicker: but for rows of a lane each, many
// of one tile, few of several, and few that no cluster holds.
bool is_logsumexp_of_many(const SoftmaxCall &call) {
    const bool is_long = call.plan.regime == SoftmaxRegime::two_pass_rows;
    if (call.problem.output != nullptr ||
        (is_long && call.problem.shape.outer < softmax_policy(call.gpu).logsumexp_long_rows)) {
        return false;
    }
    if (call.plan.regime == SoftmaxRegime::short_rows) { // of whole vectors they write outputs whatever is asked
        return call.plan.lanes != 1;
    }
    const bool are_few =
        call.problem.shape.outer * call.plan.tiles <= call.gpu.on_all(softmax_policy(call.gpu).logsumexp_few_tiles);
    return call.plan.tiles == 1 ? are_few : !are_few;
}

cudaError_t put_logsumexp(SoftmaxCall &call, bool *supported) { return launch_logsumexp(call, supported); }

cudaError_t put_general(SoftmaxCall &call, bool *) {
    return launch_general_softmax(call.problem, call.gpu, call.stream);
}

cudaError_t put_column_tiles(SoftmaxCall &call, bool *supported) {
    return launch_column_tiles(call.problem, call.gpu, call.stream, supported);
}

cudaError_t put_striped(SoftmaxCall &call, bool *) {
    return launch_striped_softmax(call.problem, {}, call.gpu, call.stream);
}

cudaError_t put_lookback_rows(SoftmaxCall &call, bool *supported) {
    const SoftmaxLookbackKernel *kernel = lookback_kernel(call.problem, call.plan, call.rows, call.gpu);
    *supported = kernel != nullptr;
    return *supported
               ? launch_lookback(*kernel, call.problem, arguments_of_call(call), call.gpu, call.stream, supported)
               : cudaSuccess;
}

cudaError_t put_lookback_columns(SoftmaxCall &call, bool *supported) {
    const Shape &s = call.problem.shape;
    const Launch totals = softmax_totals_launch(call.kernels, s.outer * s.inner, divide_up(s.axis, softmax_block),
                                                call.gpu.dependent_launch);
    return launch_lookback_columns(call.problem, arguments_of_call(call), totals, call.gpu, call.stream, supported);
}

cudaError_t put_as_masked_rows(SoftmaxCall &call, bool *supported) {
    const RowTilesPlan rows = plan_as_masked_rows(call);
    return launch_planned_masked_rows(call.problem, rows, call.gpu, call.stream, supported);
}

cudaError_t put_regime(SoftmaxCall &call, bool *supported) { return launch_regime(call, supported); }

constexpr Rule<SoftmaxCall> plain_rules[] = {
    {are_strided_rows, put_general},
    {are_rows, put_spread_rows},     // short, or few and short
    {are_columns, put_column_tiles}, // short ones
    {have_no_plan, put_general},
    {share_warps_by_elements, put_striped}, // short rows, and columns of which few are side by side
    {is_logsumexp_of_many, put_logsumexp},  // alone
    {are_rows, put_lookback_rows},          // many and long
    {are_columns, put_lookback_columns},    // many and long
    {are_rows, put_as_masked_rows},         // into other types, logarithms off the boundaries
    {are_converted, put_general},           // where the GPU has not the clusters
    {is_any, put_regime},                   // short rows, a block's, a cluster's; tiles; what is read twice
    {is_any, put_general},                  // more rows than one launch has blocks for
};

// Whether every element takes part, all rows have one scale, and no input has 8 bits.
bool is_plain(const SoftmaxProblem &problem) {
    return leaves_nothing_out(problem.selection) && problem.scales == nullptr && traits_of(problem.dtype).size != 1;
}

// Whether the logsumexp alone is what such kernels give without writing outputs: of rows of neighbours.
bool is_plain_logsumexp(const SoftmaxProblem &problem) {
    const Shape &s = problem.shape;
    return is_logsumexp_alone(problem) && is_plain(problem) && s.inner == 1 && s.axis_stride == 1 && s.axis != 0;
}

cudaError_t launch_plain_softmax(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream) {
    const SoftmaxKernels &kernels = *find_softmax_kernels(problem.dtype);
    const LoadPolicy places = softmax_places(problem, kernels, gpu);
    SoftmaxCall call{.problem = problem,
                     .gpu = gpu,
                     .stream = stream,
                     .kernels = kernels,
                     .places = places,
                     .plan = plan_softmax(problem, kernels, places, gpu),
                     .rows = row_kernels_of(kernels, places, problem.output_dtype != problem.dtype)};
    return put_by(plain_rules, call);
}

std::int32_t run(const SoftmaxProblem &asked, void *stream_handle,
                 cudaError_t (*put)(const SoftmaxProblem &, const GpuFacts &, cudaStream_t)) {
    const SoftmaxProblem problem = normalised(asked);
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    if (problem.shape.outer == 0 || problem.shape.inner == 0) {
        return static_cast<std::int32_t>(Status::success);
    }
    const DeviceScope device(stream);
    return report(device.error() == cudaSuccess ? put(problem, device.gpu(), stream) : device.error());
}

} // namespace

std::size_t softmax_workspace_bytes(const SoftmaxProblem &problem) {
    const SoftmaxProblem normal = normalised(problem);
    return is_plain(problem) ? plain_softmax_workspace_bytes(normal) : general_softmax_workspace_bytes(normal);
}

std::size_t logsumexp_workspace_bytes(const SoftmaxProblem &problem) {
    const SoftmaxProblem normal = normalised(problem);
    return is_plain_logsumexp(normal)
               ? std::max(plain_softmax_workspace_bytes(normal), logsumexp_workspace_bytes_of_rows(normal))
               : general_softmax_workspace_bytes(normal);
}

std::int32_t softmax(const SoftmaxProblem &asked, void *stream_handle) {
    return run(asked, stream_handle, is_plain(asked) ? launch_plain_softmax : launch_general_softmax);
}

std::int32_t logsumexp(const SoftmaxProblem &asked, void *stream_handle) {
    SoftmaxProblem problem = asked;
    problem.output_dtype = asked.dtype;
    return run(problem, stream_handle, is_plain_logsumexp(asked) ? launch_plain_softmax : launch_general_softmax);
}

} // namespace wr::cuda
