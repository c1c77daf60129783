// What the kernels that softmax and its gradient share are launched with. Plain data: host and GPU share it.
#pragma once

#include "cuda/softmax/arguments.h"
#include "numerics/problem.h"

#include <cstddef>
#include <cstdint>

namespace wr::cuda {

struct LargeRows {
    std::size_t least;  // elements that one has; 0: all rows are wanted
    std::int32_t among; // how many rows a block of threads looks through for them
};

// By blocks of so many threads at least.
inline constexpr int most_rows_looked_through = 1024;
inline constexpr int least_looking_threads = 256;

// What the kernels of general softmax and of its gradient are launched with.

// Of softmax a split's and a row's results are states, of its gradient sums, of which f32 is kept as f64, which is
// exact.
template <class Problem, class Stored>
struct StridedArguments {
    Problem problem;
    Stored *states;     // [rows][splits]
    Stored *totals;     // [rows]
    std::size_t splits; // of a row, each of block_warps * tiles_a_warp tiles, in columns of one; 0: none
    std::int32_t tiles_a_warp;
    std::int32_t cluster_blocks; // that share a row whose tiles have a warp each
    bool applies;                // of splits: whether the rows' totals are there, and outputs are wanted
    LargeRows longer;            // which ragged rows are wanted
};
using StridedSoftmaxArguments = StridedArguments<SoftmaxProblem, StoredState>;
using SoftmaxBackwardArguments = StridedArguments<SoftmaxBackwardProblem, double>;

inline constexpr int strided_block_warps = 8;
inline constexpr int strided_block_threads = 32 * strided_block_warps;

// Warps of a block at most whose row's tiles have a warp each.
inline constexpr int strided_row_warps = 16;

// Warps of a block at most that share columns which their threads hold.
inline constexpr int resident_column_warps = 24;

// Kernels of one arithmetic; all take the same arguments. `whole_rows`: a warp for each tile of a row, which is a
// block's or a cluster's; nullptr: not supported. `rows`: blocks of one row, or, one warp wide, of several. `splits`
// and `columns` are launched twice, for states and for results; but columns of one tile, which are not in splits, once.
// `resident_columns`: columns of which each thread holds up to `resident_elements`, read once.
struct StridedKernels {
    const void *whole_rows;
    const void *rows;
    const void *splits, *totals, *columns, *resident_columns;
    int resident_elements;
};

// f32 inputs, f64, and everything narrower.
const StridedKernels &strided_softmax_kernels_f32();
const StridedKernels &strided_softmax_kernels_f64();
const StridedKernels &strided_softmax_kernels_narrow();

const StridedKernels &softmax_backward_kernels_f32();
const StridedKernels &softmax_backward_kernels_f64();

// What the kernels for softmax of short rows of any kind and for its gradient are launched with.

inline constexpr std::size_t slots_of_warp = 1024;
inline constexpr int striped_block_warps = 4;

// A warp's rows in its registers.
struct StripedRows {
    std::int32_t log_registers; // log2 of the registers that a row takes in each lane, or of the lanes that it has
    std::uint32_t begins;       // a bit a register: whether it is a row's first
};

// The arrays are contiguous.
struct StripedSoftmaxArguments {
    SoftmaxProblem problem;
    StripedRows rows;
};

struct StripedBackwardArguments {
    SoftmaxBackwardProblem problem;
    StripedRows rows;
};

// Whose sums are f64 (of f32 logits), and f32.
const void *striped_softmax_kernel_f64();
const void *striped_softmax_kernel_f32();
const void *striped_backward_kernel();

// The same of rows of neighbouring elements, of one length or ragged; gradients of the latter.
const void *blocked_softmax_kernel_f64();
const void *blocked_softmax_kernel_f32();
const void *blocked_backward_kernel();

} // namespace wr::cuda
