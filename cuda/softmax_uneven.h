// What the kernels for softmax of rows of many lengths are launched with: ragged rows, rows cut off by lengths or the
// causal limit, and rows with masks off the boundaries of vectors. Plain data: host and GPU share it.
#pragma once

#include "cuda/softmax_arguments.h"
#include "numerics/problem.h"

namespace wr::cuda {

struct UnevenSoftmaxArguments : SoftmaxArguments {
    Selection selection;     // with a mask the input is contiguous
    std::int32_t group_rows; // rows of a block of threads
};

// Rows that a block takes at most, its base blocks of rows that its warps hold at a time, and its warps.
inline constexpr int uneven_most_rows = 32;
inline constexpr int uneven_most_jobs = 256;
inline constexpr int uneven_most_warps = 32;

struct UnevenSoftmaxKernels {
    const void *of[2]; // [log]
    int element_bytes;
};

// For outputs of the input's type, and for those of another, which no logarithms are.
template <class T>
const UnevenSoftmaxKernels &uneven_softmax_kernels();
template <class T>
const UnevenSoftmaxKernels &converting_uneven_kernels();

} // namespace wr::cuda
