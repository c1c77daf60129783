// The ways that softmax has onto the stream.
#pragma once

#include "cuda/common/gpu_facts.h"
#include "cuda/common/launch.h"
#include "cuda/common/runtime.h"
#include "cuda/rowwise/arguments.h"
#include "cuda/softmax/arguments.h"
#include "cuda/softmax/kernels.h"
#include "cuda/softmax/plan.h"
#include "numerics/problem.h"

#include <cstddef>
#include <cuda_runtime_api.h>

namespace wr::cuda {

// A call on its way to the stream.
struct SoftmaxCall {
    const SoftmaxProblem &problem;
    const GpuFacts &gpu;
    cudaStream_t stream;
    const SoftmaxKernels &kernels;
    LoadPolicy places;
    SoftmaxPlan plan;
    const SoftmaxRowKernels &rows;
};

SoftmaxArguments arguments_of(const SoftmaxProblem &problem, const SoftmaxPlan &plan);
SoftmaxArguments arguments_of_call(const SoftmaxCall &call);

// The launch that makes rows' totals of the states of their splits.
Launch softmax_totals_launch(const SoftmaxKernels &kernels, std::size_t rows, std::size_t splits, bool dependent);

// With memory for the states and totals of rows that are read twice. Not `supported` where one launch has not
// the blocks for all rows, or a block not the shared memory.
cudaError_t launch_regime(const SoftmaxCall &call, bool *supported);

// Softmax of any kind: elements left out, ragged rows, f8 inputs, maxima, logsumexp alone, any strides and types.

// Rows without elements are rows wherever the axis stands.
SoftmaxProblem normalised(SoftmaxProblem problem);

// Of normalised problems.
cudaError_t launch_general_softmax(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream);
std::size_t general_softmax_workspace_bytes(const SoftmaxProblem &problem);

// Softmax of many long rows that all multiprocessors share.

// For the states of such rows, whatever the GPU.
std::size_t most_lookback_bytes(const SoftmaxProblem &problem);

// The kernel for rows of vectors of which softmax or log-softmax is wanted; nullptr where there is none, or the rows
// are too few, too short or too long.
const SoftmaxLookbackKernel *lookback_kernel(const SoftmaxProblem &problem, const SoftmaxPlan &plan,
                                             const SoftmaxRowKernels &rows, const GpuFacts &gpu);

// Where the GPU does not hold enough such blocks at a time, nothing is launched and `supported` is false.
cudaError_t launch_lookback(const SoftmaxLookbackKernel &lookback, const SoftmaxProblem &problem, SoftmaxArguments a,
                            const GpuFacts &gpu, cudaStream_t stream, bool *supported);

// The logsumexp of many whole rows of neighbouring elements.

// Bytes that suffice on every GPU for the states of splits and of rows.
std::size_t logsumexp_workspace_bytes_of_rows(const SoftmaxProblem &problem);

// Where the kernels do not serve, nothing is launched and `supported` is false.
cudaError_t launch_logsumexp(const SoftmaxCall &call, bool *supported);

// Softmax and its gradient of short rows of any kind in contiguous arrays: several rows a warp, one kernel for all
// types.

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
