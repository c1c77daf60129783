// What the kernels of general softmax and of its gradient are launched with. Plain data: host and GPU share it.
#pragma once

#include "cuda/rowwise/large_rows.h"
#include "cuda/softmax/arguments.h"
#include "numerics/problem.h"

namespace wr::cuda {

using GeneralState = StoredState;

struct GeneralSoftmaxArguments {
    SoftmaxProblem problem;
    GeneralState *states; // [rows][pieces]
    GeneralState *totals; // [rows]
    std::size_t pieces;   // of a row, each of block_warps * blocks_a_warp base blocks, in columns of one; 0: none
    std::int32_t blocks_a_warp;
    std::int32_t cluster_blocks; // that share a row whose base blocks have a warp each
    bool applies;                // of pieces: whether the rows' totals are there, and outputs are wanted
    LongerRows longer;           // which ragged rows are wanted
};

struct SoftmaxBackwardArguments {
    SoftmaxBackwardProblem problem;
    double *sums;   // [rows][pieces]; f32 sums are kept as f64, which is exact
    double *totals; // [rows]
    std::size_t pieces;
    std::int32_t blocks_a_warp;
    std::int32_t cluster_blocks;
    bool applies;
    LongerRows longer;
};

inline constexpr int general_block_warps = 8;
inline constexpr int general_block_threads = 32 * general_block_warps;

// Warps of a block at most whose row's base blocks have a warp each.
inline constexpr int general_row_warps = 16;

// Warps of a block at most that share columns which their threads hold.
inline constexpr int held_column_warps = 24;

// Kernels of one arithmetic; all take the same arguments. `whole_rows`: a warp for each base block of a row, which is a
// block's or a cluster's; nullptr: not served. `rows`: blocks of one row, or, one warp wide, of several. `pieces` and
// `columns` are launched twice, for states and for results; but columns of one base block, which are not in pieces,
// once. `held_columns`: columns of which each thread holds up to `held_elements`, read once.
struct GeneralKernels {
    const void *whole_rows;
    const void *rows;
    const void *pieces, *totals, *columns, *held_columns;
    int held_elements;
};

// f32 inputs, f64, and everything narrower.
const GeneralKernels &general_softmax_kernels_f32();
const GeneralKernels &general_softmax_kernels_f64();
const GeneralKernels &general_softmax_kernels_narrow();

const GeneralKernels &softmax_backward_kernels_f32();
const GeneralKernels &softmax_backward_kernels_f64();

} // namespace wr::cuda
