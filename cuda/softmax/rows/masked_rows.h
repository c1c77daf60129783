// Softmax of rows in registers, with masks, lengths, the causal limit or maxima.
#pragma once

#include "cuda/rowwise/row_tiles_plan.h"
#include "numerics/problem.h"

namespace wr::cuda {

// Whether rows' limits can be counted in 32 bits and without overflow.
bool has_small_limits(const Shape &shape, const Selection &chosen);

// Rows of whole vectors. No warps: other kernels do it.
RowBlocksPlan plan_selected_softmax(const SoftmaxProblem &problem, const GpuFacts &gpu);

// Rows of up to 64 base blocks anywhere in memory, whose outputs have their type. No warps: other kernels do it.
RowBlocksPlan plan_softmax_anywhere(const SoftmaxProblem &problem, const GpuFacts &gpu);

// Whether rows that are put on a GPU so have kernels of their own: of up to 64 base blocks.
bool fits_cut_rows(const RowBlocksPlan &plan);

cudaError_t launch_selected_softmax(const SoftmaxProblem &problem, const RowBlocksPlan &plan, cudaStream_t stream);

// Rows so short that a warp takes several.
bool serves_selected_short(const SoftmaxProblem &problem);

cudaError_t launch_selected_short(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream);

} // namespace wr::cuda
