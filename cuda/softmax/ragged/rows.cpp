#include "cuda/softmax/rows.h"

#include "cuda/common/gpu_facts.h"
#include "cuda/common/vectors.h"
#include "cuda/softmax/plan.h"
#include "cuda/softmax/policy.h"
#include "numerics/softmax.h"

#include <algorithm>

namespace wr::cuda {

namespace {

constexpr std::size_t ragged_least_warps = 8; // of a block

const RaggedSoftmaxKernels *kernels_of(const SoftmaxProblem &p) {
    return p.output_dtype == p.dtype
               ? of_vector_type(p.dtype, []<class T>() { return &ragged_softmax_kernels<T>(); })
               : of_vector_type(p.dtype, []<class T>() { return &converting_ragged_kernels<T>(); });
}

// Whether rows are ragged, their elements neighbours, and there are kernels for the output type.
bool allows(const SoftmaxProblem &p) {
    return p.selection.ragged && p.scales == nullptr && p.shape.axis_stride == 1 && p.output != nullptr &&
           p.output_dtype != ElementType::f64 && (p.output_dtype == p.dtype || !p.log);
}

// A block holds a row of as many tiles as it has warps, and the fewer these are, the more blocks wait side by
// side: 8, half of the most, or the most. Of all rows the elements are known, and the longest are taken for twice the
// mean; where these would be read twice anyhow, it is half of the most.
std::size_t warps_of_block(const SoftmaxProblem &p, const RaggedSoftmaxKernels &kernels) {
    const std::size_t elements = 2 * divide_up(p.shape.axis, p.shape.outer);
    const auto most = static_cast<std::size_t>(kernels.most_warps);
    if (elements <= ragged_least_warps * softmax_block) {
        return ragged_least_warps;
    }
    return elements <= most / 2 * softmax_block || elements > 2 * most * softmax_block ? most / 2 : most;
}

std::size_t blocks_of(const RaggedPlan &plan, std::size_t rows) {
    return divide_up(rows, plan.longer.least != 0 ? static_cast<std::size_t>(plan.longer.among) : plan.group_rows);
}

} // namespace

RaggedPlan plan_ragged_softmax(const SoftmaxProblem &p, const LargeRows &wanted, const GpuFacts &gpu) {
    if (gpu.cluster_blocks == 0 || kernels_of(p) == nullptr || !allows(p)) {
        return {};
    }
    const std::size_t rows = p.shape.outer;
    RaggedPlan plan{warps_of_block(p, *kernels_of(p)), 1, gpu.dependent_launch, wanted};
    const std::size_t groups = gpu.on_all(softmax_policy(gpu).ragged_warps) / plan.warps;
    const std::size_t most_rows = std::min<std::size_t>(ragged_most_rows, ragged_most_jobs / plan.warps);
    plan.group_rows = wanted.least != 0 ? most_rows : std::clamp<std::size_t>(rows / groups, 1, most_rows);
    return blocks_of(plan, rows) <= most_blocks ? plan : RaggedPlan{};
}

cudaError_t launch_ragged_softmax(const SoftmaxProblem &p, const RaggedPlan &plan, const GpuFacts &gpu,
                                  cudaStream_t stream) {
    const RaggedSoftmaxKernels &kernels = *kernels_of(p);
    RaggedSoftmaxArguments a{};
    static_cast<SoftmaxArguments &>(a) = arguments_of_problem(p);
    a.inner = 1;
    a.axis_stride = 1;
    a.selection = p.selection;
    a.group_rows = static_cast<std::int32_t>(plan.group_rows);
    a.longer = plan.longer;
    a.rows_ahead = softmax_policy(gpu).ragged_groups_ahead * plan.group_rows;
    Launch how{kernels.of[p.log ? 1 : 0], blocks_of(plan, p.shape.outer), static_cast<int>(plan.warps * warp_threads)};
    how.dependent = plan.dependent;
    return launch(how, &a, stream);
}

} // namespace wr::cuda
