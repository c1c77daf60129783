// Softmax of ragged rows.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/rowwise/large_rows.h"
#include "numerics/problem.h"

namespace wr::cuda {

// No warps: not supported.
struct RaggedPlan {
    std::size_t warps, group_rows; // of a block
    bool dependent;                // may take its place before the kernel in front of it on the stream has finished
    LargeRows longer;              // which rows are wanted
};

RaggedPlan plan_ragged_softmax(const SoftmaxProblem &problem, const LargeRows &wanted, const GpuFacts &gpu);

cudaError_t launch_ragged_softmax(const SoftmaxProblem &problem, const RaggedPlan &plan, const GpuFacts &gpu,
                                  cudaStream_t stream);

} // namespace wr::cuda
