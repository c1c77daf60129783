// Softmax of any kind: elements left out, ragged rows, f8 inputs, maxima, logsumexp alone, any strides and types.
#pragma once

#include "cuda/common/launch.h"
#include "numerics/problem.h"

#include <cstddef>

namespace wr::cuda {

// Rows without elements are rows wherever the axis stands.
SoftmaxProblem normalised(SoftmaxProblem problem);

// Of normalised problems.
cudaError_t launch_general_softmax(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream);
std::size_t general_softmax_workspace_bytes(const SoftmaxProblem &problem);

} // namespace wr::cuda
