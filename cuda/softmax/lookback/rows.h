// Softmax of many long rows that all multiprocessors share.
#pragma once

#include "cuda/common/gpu_facts.h"
#include "cuda/common/runtime.h"
#include "cuda/softmax/kernels.h"
#include "cuda/softmax/plan.h"
#include "numerics/problem.h"

#include <cstddef>

namespace wr::cuda {

// For the states of such rows, whatever the GPU.
std::size_t most_lookback_bytes(const SoftmaxProblem &problem);

// The kernel for rows of vectors of which softmax or log-softmax is wanted; nullptr where there is none, or the rows
// are too few, too short or too long.
const SoftmaxLookbackKernel *lookback_kernel(const SoftmaxProblem &problem, const SoftmaxPlan &plan,
                                             const SoftmaxRowKernels &rows, const GpuFacts &gpu);

// Where the GPU does not hold enough such blocks at a time, nothing is launched and `supported` is false.
cudaError_t launch_lookback(const SoftmaxLookbackKernel &lookback, const SoftmaxProblem &problem, SoftmaxArguments a,
                            const GpuFacts &gpu, cudaStream_t stream, bool *supported);

} // namespace wr::cuda
