// Softmax and its gradient of short rows of any kind in contiguous arrays: several rows a warp, one kernel for all
// types.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/rowwise/large_rows.h"
#include "cuda/rowwise/sub_warp_arguments.h"

namespace wr::cuda {

// From how many rows on they are wanted, and up to how many elements.
struct StripedLimits {
    std::size_t fewest_rows, elements;
};
inline constexpr StripedLimits any_slots{0, slots_of_warp};

// Fewer rows are done sooner by kernels that have a warp or more for each.
std::size_t fewest_striped_rows(const GpuFacts &gpu);

bool serves_striped_softmax(const SoftmaxProblem &problem, const StripedLimits &limits, const GpuFacts &gpu);
bool serves_striped_backward(const SoftmaxBackwardProblem &problem, const StripedLimits &limits, const GpuFacts &gpu);

// Of ragged rows many of which are so short that several should share a warp, those that are too long for that: other
// kernels do them, and leave the rest alone. All of them where there are not many.
LargeRows rows_too_long_for_slots(const SoftmaxProblem &problem, const GpuFacts &gpu);
LargeRows rows_too_long_for_slots(const SoftmaxBackwardProblem &problem, const GpuFacts &gpu);

// All rows but the others, which are some of ragged ones.
cudaError_t launch_striped_softmax(const SoftmaxProblem &problem, const LargeRows &others, const GpuFacts &gpu,
                                   cudaStream_t stream);
cudaError_t launch_striped_backward(const SoftmaxBackwardProblem &problem, const LargeRows &others, const GpuFacts &gpu,
                                    cudaStream_t stream);

} // namespace wr::cuda
