// Softmax of ragged rows.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/rowwise/large_rows.h"
#include "cuda/softmax/arguments.h"
#include "numerics/problem.h"

namespace wr::cuda {

// No warps: not supported.
struct RaggedPlan {
    std::size_t warps, group_rows; // of a block
    bool dependent;                // may take its place before the kernel in front of it on the stream has finished
    LargeRows longer;              // which rows are wanted
};

RaggedPlan plan_ragged_softmax(const SoftmaxProblem &problem, const LargeRows &wanted, const GpuFacts &gpu);

cudaError_t launch_ragged_softmax(const SoftmaxProblem &problem, const RaggedPlan &plan, const GpuFacts &gpu,
                                  cudaStream_t stream);

struct RaggedSoftmaxArguments : SoftmaxArguments {
    Selection selection;     // ragged
    std::int32_t group_rows; // rows that a block of threads has at a time
    std::size_t rows_ahead;  // how far ahead numbers are asked for
    LargeRows longer;
};

// Rows that a block takes at most, its tiles of rows that its warps hold at a time, and its warps: of f32 fewer
// with more registers each.
inline constexpr int ragged_most_rows = 32;
inline constexpr int ragged_most_jobs = 256;
template <class T>
inline constexpr int ragged_warps_of = sizeof(T) == 2 ? 32 : 24;

struct RaggedSoftmaxKernels {
    const void *of[2]; // [log]
    int most_warps;    // of a block
};

// For outputs of the input's type, and for those of another, which no logarithms are.
template <class T>
const RaggedSoftmaxKernels &ragged_softmax_kernels();
template <class T>
const RaggedSoftmaxKernels &converting_ragged_kernels();

} // namespace wr::cuda
