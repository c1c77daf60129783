// Softmax of few rows that all multiprocessors hold together.
#pragma once

#include "cuda/common/runtime.h"
#include "cuda/softmax/kernels.h"
#include "cuda/softmax/plan.h"
#include "numerics/problem.h"

#include <cstddef>

namespace wr::cuda {

// For the states of such rows, whatever the GPU.
std::size_t most_cooperative_row_bytes(const SoftmaxProblem &problem);

// Where the GPU does not hold the rows, or there is no kernel for them, nothing is launched and `served` is false.
cudaError_t launch_cooperative_rows(const SoftmaxRowKernels &rows, const SoftmaxProblem &problem, SoftmaxArguments a,
                                    const SoftmaxPlan &plan, const GpuFacts &gpu, cudaStream_t stream, bool *served);

} // namespace wr::cuda
