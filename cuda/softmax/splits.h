// The states of splits of long rows off the boundaries, for their logsumexp alone.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/rowwise/strided_plan.h"

namespace wr::cuda {

// Whether rows that a general plan cuts into splits are neighbouring elements, all of which take part, and nothing but
// their logsumexp is wanted.
bool serves_unaligned_states(const SoftmaxProblem &problem, const StridedPlan &plan);

cudaError_t launch_unaligned_states(const SoftmaxProblem &problem, const StridedPlan &plan, StoredState *states,
                                    cudaStream_t stream);

} // namespace wr::cuda
