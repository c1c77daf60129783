// What the kernels for the logsumexp of rows of whole 16-byte vectors are launched with. Plain data: host and GPU share
// it.
#pragma once

#include "cuda/softmax_general_arguments.h"

namespace wr::cuda {

inline constexpr int logsumexp_block_warps = 8;
inline constexpr int logsumexp_most_unit_blocks = 64;

// What a unit is: a row of a few base blocks, or as many short rows as a warp has room for in a tile of 32 lanes times
// 32 elements, each warp taking some; or a piece of a long row, up to logsumexp_most_unit_blocks base blocks, which a
// block of threads shares.
struct LogSumExpArguments {
    const void *input;
    void *output;
    GeneralState *states; // [rows][pieces]; nullptr: every row is one unit's, and its logsumexp is stored
    std::size_t rows, axis;
    std::ptrdiff_t outer_stride;
    std::ptrdiff_t row_step;  // bytes from a unit that begins a row to the next such one
    std::ptrdiff_t unit_step; // from the last base block of a warp's unit to its next unit
    std::uint32_t units, units_a_warp;
    std::uint32_t pieces;                   // of a row
    std::int32_t unit_blocks, unit_vectors; // base blocks of a unit and vectors in them
    std::int32_t last_blocks, last_vectors; // of a row's last piece, or of the last unit
    std::int32_t row_lanes;                 // that share a row, a power of two: 32 for rows of more than 512 elements
    bool by_blocks;                         // blocks of threads share a unit
    bool gapped;                            // short rows: they do not fill their lanes, or lie apart in memory
    std::int32_t lane_gap;                  // vectors by which a row falls short of its lanes
    std::int32_t row_gap_bytes;             // from a row's end to the next row
    std::int32_t row_reciprocal;            // 2^16 over the vectors of a row, rounded up
    ElementType output_type;
};

// nullptr: not served.
const void *logsumexp_rows_kernel(ElementType dtype);
template <class T>
const void *logsumexp_rows_kernel();

} // namespace wr::cuda
