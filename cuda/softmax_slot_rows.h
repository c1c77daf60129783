// Softmax and its gradient of short rows of any kind in contiguous arrays: several rows a warp, one kernel for all
// types.
#pragma once

#include "cuda/launch.h"
#include "cuda/softmax_slot_arguments.h"

#include <limits>

namespace wr::cuda {

// Up to which sizes they are wanted: elements of a row, and of columns side by side together.
struct SlotLimits {
    std::size_t row;
    std::size_t columns = std::numeric_limits<std::size_t>::max();
};
inline constexpr SlotLimits any_slots{slots_of_warp};

bool serves_slot_softmax(const SoftmaxProblem &problem, const SlotLimits &limits);
bool serves_slot_backward(const SoftmaxBackwardProblem &problem, const SlotLimits &limits);

cudaError_t launch_slot_softmax(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream);
cudaError_t launch_slot_backward(const SoftmaxBackwardProblem &problem, const GpuFacts &gpu, cudaStream_t stream);

} // namespace wr::cuda
