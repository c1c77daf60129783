// Softmax of rows of whole vectors, with masks, lengths, the causal limit or maxima.
#pragma once

#include "cuda/row_blocks_plan.h"
#include "numerics/problem.h"

namespace wr::cuda {

// No warps: the general kernels do it.
RowBlocksPlan plan_selected_softmax(const SoftmaxProblem &problem, const GpuFacts &gpu);

cudaError_t launch_selected_softmax(const SoftmaxProblem &problem, const RowBlocksPlan &plan, cudaStream_t stream);

} // namespace wr::cuda
