// Softmax and its gradient of short rows of any kind in contiguous arrays: several rows a warp, one kernel for all
// types.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/rowwise/large_rows.h"
#include "cuda/rowwise/sub_warp_arguments.h"

namespace wr::cuda {

// Softmax of short rows that no kernels of whole vectors pack: up to so many elements share a warp element by element;
// of 16-bit rows into their own type, of rows narrower than f32 into another, and where kernels of whole vectors have a
// warp or a block for each row, up to the other numbers (TB/s on an H200, and by the others: masked f32 of 401 2.09 and
// 1.71, lengths 2.34 and 2.05, masked of 513 1.60 and 2.03, of 1001 2.60 and 2.53; bf16, masked of 255, 257, 301 1.30,
// 0.78, 0.88 and 0.83, 0.84, 0.98, lengths of 255, 300, 401, 500 1.50, 0.97, 1.20, 1.46 and 1.33, 1.60, 1.86, 2.49;
// E4M3, whole vectors, of 256 0.78 and 0.68, of 512 0.77 and 0.93).
inline constexpr std::size_t softmax_striped_row = 512;
inline constexpr std::size_t softmax_striped_narrow_row = 256;
inline constexpr std::size_t softmax_striped_converted_row = 256;
inline constexpr std::size_t softmax_striped_vector_row = 256;

// From how many rows on they are wanted, and up to how many elements.
struct StripedLimits {
    std::size_t fewest_rows, elements;
};
inline constexpr StripedLimits any_slots{0, slots_of_warp};

// Fewer rows are done sooner by kernels that have a warp or more for each.
std::size_t fewest_striped_rows(const GpuFacts &gpu);

bool serves_striped_softmax(const SoftmaxProblem &problem, const StripedLimits &limits);
bool serves_striped_backward(const SoftmaxBackwardProblem &problem, const StripedLimits &limits);

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
