// Softmax of columns so short that the registers of a block or a cluster hold some of them, or their logsumexp alone:
// read once, written once.
#pragma once

#include "cuda/common/launch.h"
#include "numerics/problem.h"

namespace wr::cuda {

// Where they are not such, or the GPU has not the shared memory, nothing is launched and `supported` is false.
cudaError_t launch_column_tiles(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream,
                                bool *supported);

} // namespace wr::cuda
