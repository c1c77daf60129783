// What the softmax kernels are launched with. Plain data: host and GPU share it.
#pragma once

#include "cuda/common/vectors.h"
#include "numerics/element_types.h"

namespace wr::cuda {

// The state of some consecutive blocks of a row; f32 values are kept as f64, which is exact.
struct StoredState {
    double maximum, sum;
};

// A row of more splits than this has a block for its total, else a warp, which several rows of few splits share.
inline constexpr std::size_t softmax_splits_a_warp = 256;

// Rows whose totals a warp makes at once: as many as leave each of their splits a lane.
constexpr int rows_of_totals_warp(std::size_t splits) {
    int rows = 32;
    while (rows > 1 && splits * static_cast<std::size_t>(rows) > 32) {
        rows /= 2;
    }
    return rows;
}

// What a kernel before has left of columns (LookbackColumnsArguments), a vector of them wherever the first has a factor
// that is no number.
struct ColumnsLeft {
    const std::uint64_t *any; // nullptr: all of them; nothing where it holds absent_word
    const std::uint64_t *factors;
    std::size_t columns; // that have one in each array [axis][inner]
};

struct SoftmaxArguments {
    const void *input;
    void *output;
    void *logsumexp;              // nullptr: not wanted
    void *maximum;                // likewise
    bool row_values;              // whether either is
    StoredState *states;          // [rows][splits], what each split of a row comes to
    StoredState *totals;          // [rows], what each whole row comes to
    ReadableRange readable_range; // of the input
    ReadableRange
        vector_safe_range; // where a tile may begin whose vectors lie within the readable range, wherever it stands
    std::size_t outer, axis, inner;
    std::ptrdiff_t outer_stride, axis_stride, inner_stride;
    union {
        std::size_t splits;          // of a row, each with a state
        std::size_t published_words; // of look-back, whose rows have no splits; the last counts the turns
    };
    std::int32_t tiles_a_warp; // tiles that a warp takes, a power of two
    std::int32_t cluster_blocks;
    std::int32_t row_lanes;   // that share a short row, or places of a vector that it takes: a power of two
    std::int32_t row_batches; // short rows of a warp, in turns of as many as its lanes have room for
    double scale;
    float narrow_scale; // the same, rounded
    ElementType output_type;
    bool scaled;
    bool log;
    bool empty_row_zero;
    ElementType logsumexp_type;
    ElementType input_type; // for kernels that may read elements of 8 bits
    std::uint64_t
        *published; // [rows][groups] and one more, what multiprocessors tell each other (published_states.cuh)
    std::int32_t group_power; // of 2: the tiles of such a group
    ColumnsLeft left;
};

// What there is of a row beside its outputs.
inline void want_row_values(SoftmaxArguments &a, void *logsumexp, void *maximum) {
    a.logsumexp = logsumexp;
    a.maximum = maximum;
    a.row_values = logsumexp != nullptr || maximum != nullptr;
}
WR_HD bool wants_row_values(const SoftmaxArguments &a) { return a.row_values; }

// What the kernels for the logsumexp of rows are launched with.

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
