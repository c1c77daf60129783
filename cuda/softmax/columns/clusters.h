// Softmax of columns by clusters that go from tile to tile.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/softmax/arguments.h"
#include "numerics/problem.h"

namespace wr::cuda {

// Where these kernels do not serve the job or this GPU, nothing is launched and `served` is false.
cudaError_t launch_column_clusters(const SoftmaxProblem &problem, const SoftmaxArguments &a, const GpuFacts &gpu,
                                   cudaStream_t stream, bool *served);

} // namespace wr::cuda
