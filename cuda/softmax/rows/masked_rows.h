// Softmax of rows in registers, with masks, lengths, the causal limit or maxima.
#pragma once

#include "cuda/rowwise/row_tiles_plan.h"
#include "numerics/problem.h"

namespace wr::cuda {

// Whether rows' limits can be counted in 32 bits and without overflow.
bool has_small_limits(const Shape &shape, const Selection &chosen);

// Rows of whole vectors. No warps: other kernels do it.
RowTilesPlan plan_masked_rows(const SoftmaxProblem &problem, const GpuFacts &gpu);

// Rows anywhere in memory, whose outputs have their type. No warps: other kernels do it.
RowTilesPlan plan_softmax_anywhere(const SoftmaxProblem &problem, const GpuFacts &gpu);

// Nothing is launched and `supported` is false where the plan has no warps, or the GPU no such clusters.
cudaError_t launch_planned_masked_rows(const SoftmaxProblem &problem, const RowTilesPlan &plan, const GpuFacts &gpu,
                                       cudaStream_t stream, bool *supported);

// Rows so short that a warp takes several.
bool serves_masked_short(const SoftmaxProblem &problem, const GpuFacts &gpu);

cudaError_t launch_masked_short(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream);

} // namespace wr::cuda
