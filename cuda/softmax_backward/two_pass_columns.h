// The gradient of softmax of columns of whole vectors of one type: the sums of their tiles, the totals of these,
// then the gradients.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/rowwise/strided_arguments.h"

namespace wr::cuda {

bool serves_backward_columns(const SoftmaxBackwardProblem &problem);

// `a` brings the problem and room for sums and totals; `totals` is the kernel that makes the latter of the former.
cudaError_t launch_backward_columns(const void *totals, SoftmaxBackwardArguments &a, bool dependent,
                                    cudaStream_t stream);

} // namespace wr::cuda
