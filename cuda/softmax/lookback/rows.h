// Softmax of many long rows that all multiprocessors share.
#pragma once

#include "cuda/common/runtime.h"
#include "cuda/reduce/plan.h"
#include "cuda/softmax/kernels.h"
#include "cuda/softmax/plan.h"
#include "numerics/problem.h"

#include <cstddef>

namespace wr::cuda {

// For the states of such rows, whatever the GPU.
std::size_t most_relay_bytes(const SoftmaxProblem &problem);

// The kernel for rows of vectors of which softmax or log-softmax is wanted; nullptr where there is none, or the rows
// are too few, too short or too long.
const SoftmaxRelayKernel *relay_kernel(const SoftmaxProblem &problem, const SoftmaxPlan &plan,
                                       const SoftmaxRowKernels &rows, const GpuFacts &gpu);

// Makes a.pieces words at a.published absent, by one of the kernels for that (SoftmaxRelayKernel).
cudaError_t clear_published(const void *kernel, SoftmaxArguments a, const GpuFacts &gpu, cudaStream_t stream);

// Where the GPU does not hold enough such blocks at a time, nothing is launched and `served` is false.
cudaError_t launch_relay(const SoftmaxRelayKernel &relay, const SoftmaxProblem &problem, SoftmaxArguments a,
                         const GpuFacts &gpu, cudaStream_t stream, bool *served);

} // namespace wr::cuda
