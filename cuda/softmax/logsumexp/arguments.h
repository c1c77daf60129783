// What the kernels for the logsumexp of rows are launched with. Plain data: host and GPU share it.
#pragma once

#include "cuda/common/readable_range.h"
#include "cuda/softmax/arguments.h"

namespace wr::cuda {

inline constexpr int logsumexp_block_warps = 8;
inline constexpr int logsumexp_most_unit_tiles = 64;

// What a unit is: a row of a few tiles, or as many short rows as a warp has room for in a tile of 32 lanes times
// 32 elements, each warp taking some; or a split of a long row, up to logsumexp_most_unit_tiles tiles, which a
// block of threads shares.
struct LogSumExpArguments {
    const void *input;
    void *output;
    StoredState *states; // [rows][splits]; nullptr: every row is one unit's, and its logsumexp is stored
    std::size_t rows, axis;
    std::ptrdiff_t outer_stride;
    std::ptrdiff_t row_step;  // bytes from a unit that begins a row to the next such one
    std::ptrdiff_t unit_step; // from the last tile of a warp's unit to its next unit
    std::uint32_t units, units_a_warp;
    std::uint32_t splits;                   // of a row
    std::int32_t unit_tiles, unit_elements; // tiles of a unit and elements in them
    std::int32_t last_tiles, last_elements; // of a row's last split, or of the last unit
    std::int32_t row_lanes, tile_rows;      // lanes that share a row, and the rows that a warp holds so
    bool by_blocks;                         // blocks of threads share a unit
    bool partial;                           // several rows a tile, whose last lanes have fewer elements than others
    bool apart;                             // several rows a tile, which do not touch each other in memory
    std::int32_t row_bytes;                 // of several rows a tile, from one to the next
    std::int32_t row_vectors;               // that hold a row which lies apart, at most
    std::int32_t row_reciprocal;            // 2^16 over these, rounded up
    std::int32_t tile_low, tile_high; // of several rows a tile, bytes from its first row to its lowest and its end
    ReadableRange whole_vectors;      // bytes whose vectors lie within the readable range
    ReadableRange readable_range;
    bool any_may_be_masked; // vectors of every unit may reach beyond these, not of the first and the last two alone
    ElementType output_type;
};

// The kernels of a type: of rows on 16-byte boundaries and of whole vectors, which touch each other where they share a
// tile, and of others.
template <class T>
const void *logsumexp_rows_kernel(bool aligned);

} // namespace wr::cuda
