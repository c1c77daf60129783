// The logsumexp of many whole rows of neighbouring elements.
#pragma once

#include "cuda/softmax/logsumexp/arguments.h"
#include "cuda/softmax/regimes.h"

#include <cuda_runtime_api.h>

namespace wr::cuda {

// Bytes that suffice on every GPU for the states of splits and of rows.
std::size_t logsumexp_workspace_bytes_of_rows(const SoftmaxProblem &problem);

// Where the kernels do not serve, nothing is launched and `supported` is false.
cudaError_t launch_logsumexp(const SoftmaxCall &call, bool *supported);

} // namespace wr::cuda
