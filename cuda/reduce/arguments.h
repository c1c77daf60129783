// What the reduction kernels are launched with. Plain data: host and GPU share it.
#pragma once

#include "cuda/common/vectors.h"
#include "numerics/finish.h"
#include "numerics/host_device.h"

#include <bit>
#include <cstdint>

namespace wr::cuda {

// Division of small numbers by one known at launch, in a multiplication and a shift. Exact for dividends below 2^15 and
// divisors from 1 to 2^15: the multiplier exceeds 2^shift / divisor by less than 1, which makes a quotient too large by
// less than 2^15 / 2^shift <= 1 / divisor.
struct SmallDivisor {
    std::uint32_t divisor, multiplier, shift;

    WR_HD std::uint32_t divide(std::uint32_t dividend) const { return dividend * multiplier >> shift; }
};

inline SmallDivisor small_divisor(std::uint32_t divisor) {
    const auto shift = static_cast<std::uint32_t>(15 + std::bit_width(divisor - 1));
    return {divisor, static_cast<std::uint32_t>(((std::uint64_t{1} << shift) + divisor - 1) / divisor), shift};
}

// Where a stage's results go.
enum class Destination : std::int32_t {
    output,   // finished, into the caller's output
    partials, // as accumulators, for the next stage
    nodes,    // likewise, rows of which nodes are kept
};

WR_HD constexpr std::size_t bits_of(std::uint64_t x) {
    std::size_t bits = 0;
    for (; x != 0; x &= x - 1) {
        ++bits;
    }
    return bits;
}

// Nodes that share a split, where they are small.
inline constexpr int nodes_of_split = 8;

// Pieces of rows that are not all alike, as states have them (numerics/state.h): in front nodes that grow, at the end
// nodes that shrink, a node for each bit of how many elements these are; runs of one length between them.
struct RowNodes {
    std::uint64_t growing, shrinking; // elements; both 0: all splits are runs
    std::uint64_t run;                // what the warps of a block take together; 0: they do not
    void *accumulators;               // [node][row], where those of nodes go
    std::int32_t first_shrinking;     // its number among the nodes
    std::int32_t weight_bytes;

    WR_HD constexpr bool any() const { return (growing | shrinking) != 0; }
    // Bits of nodes that a warp takes by itself, so that the warps of a block have one each.
    WR_HD constexpr std::uint64_t small() const { return run == 0 ? 0 : run / nodes_of_split * 2 - 1; }
};

// The splits that some nodes take.
WR_HD constexpr std::size_t splits_of_nodes(std::uint64_t nodes, std::uint64_t small) {
    return divide_up<std::size_t>(bits_of(nodes & small), nodes_of_split) + bits_of(nodes & ~small);
}

// Reduction of rows: row number r = (o, i) starts at input + o * outer_stride + i * inner_stride elements. What every
// kernel reads stands first: a warp waits for each further line of the constant cache.
struct RowArguments {
    const void *input;
    std::size_t first_row; // of this launch
    std::size_t rows, axis, inner;
    std::ptrdiff_t outer_stride;
    std::size_t first_split; // of this launch
    std::size_t splits;      // blocks that share a row: a cluster, where these finish it into the output
    void *output;            // of `destination`; partials are [rows][splits]
    std::int32_t warps_log2; // of the warps of a block that share a row
    std::int32_t tiles;      // that each warp takes, a power of two; of dealt ones at most
    Destination destination;
    std::int32_t dealt; // the warps of a block round which its row's tiles go; 0: each takes neighbours
    union {
        Finish finish;
        RowNodes nodes; // where the destination is these
    };
    Mapping mapping; // for the operator's map; all zero where the input is partial results
    ReadableRange readable_range;
    std::ptrdiff_t axis_stride, inner_stride;
};

// Reduction of columns: [outer][axis][inner], inner contiguous, to [outer][axis groups][inner].
struct ColumnArguments {
    const void *input;
    void *output;
    std::size_t first_job; // of this launch; jobs are blocks: column tiles, then groups, then outer indices
    std::size_t outer, axis, inner;
    std::ptrdiff_t outer_stride, axis_stride;
    std::size_t groups;          // of the axis, each a block's share
    std::size_t column_tiles;    // blocks side by side
    bool groups_are_clusters;    // which finish them; one outer index a block then
    bool few_jobs;               // job numbers fit 32 bits
    std::int32_t run;            // rows that a thread takes, where order counts a power of two
    std::int32_t threads_across; // threads of a block side by side
    std::int32_t threads_down;   // threads of a block below each other: a power of two, or most_column_cluster at most
    std::int32_t outer_a_block;  // outer indices that a block takes
    std::int32_t vectors;        // that a thread takes, threads_across apart; of more than one all rows
    SmallDivisor by_across;      // by threads_across
    Destination destination;
    Finish finish;
    Mapping mapping;
};

// Short rows and narrow columns of a contiguous array, [outer][axis][inner] to [outer][groups][inner]: an item is up to
// `rows` rows of one outer index, and a block takes items that touch each other.
struct StagedArguments {
    const void *input;
    void *output;
    ReadableRange readable_range;
    std::size_t first_block; // of this launch
    std::size_t outer, axis, inner;
    std::size_t groups;                 // of the axis, an item each
    std::size_t group_blocks;           // that share an outer index, where there is more than one group
    std::int32_t rows;                  // of an item
    std::int32_t items_a_block;         // of block_stage_bytes together
    std::int32_t run;                   // rows that a thread takes, at most most_run_elements
    std::int32_t runs;                  // of an item; where more than one, no block has more tasks than threads
    bool runs_are_neighbours;           // of threads side by side: the runs of an item, not the same runs of several
    std::int32_t item_pitch, run_pitch; // places from one to the next
    std::int32_t gap;                   // places left out behind each `unit` cells
    SmallDivisor unit, by_inner, by_neighbours;
    Destination destination;
    Finish finish;
    Mapping mapping;
};

// Ragged rows, to one result a segment.
struct SegmentArguments {
    const void *input;
    void *output;
    const void *offsets; // segments + 1
    bool narrow_offsets; // 32 bits, not 64
    std::size_t segments;
    std::size_t input_count;        // 0: as many elements as the last offset says
    std::int32_t segment_work;      // in elements, beside its own
    std::int32_t least_window_log2; // of elements
    void *first_runs, *later_runs;  // partial results, one each a window
    std::int64_t *long_segments;    // the long segment that begins in a grain, or -1
    Mapping mapping;
    Finish finish;
};

// Windows that the line of all segments is seen as at most, and the grains that a window has, a power of two.
inline constexpr std::int64_t most_segment_windows = 131072;
inline constexpr int segment_grains_log2 = 1;
inline constexpr std::int64_t most_segment_grains = most_segment_windows << segment_grains_log2;

// Warps of a block that take a share of the line each, threads of such a block, and of one that puts long segments
// together, with the others of its cluster.
inline constexpr int segment_block_warps = 4;
inline constexpr int segment_block_threads = 128;
inline constexpr int long_segment_threads = 1024;
inline constexpr int long_segment_cluster = 4; // blocks

// Elements that a thread reduces by itself: of a segment; at most.
inline constexpr int run_elements = 32;
inline constexpr int most_run_elements = 64;

// Rows that a thread of the kernels of columns takes at least, as many loads as it has on their way, and at most of
// single columns; blocks that finish a column as a cluster.
inline constexpr int least_column_run = 8;
inline constexpr int few_column_rows = 16; // at most, of the kernels that leave room for more blocks
inline constexpr int long_column_run = 64; // of a thread that has all of an axis a little longer than others' runs
inline constexpr int most_short_axis = 4;  // rows of which a thread takes several vectors' columns
inline constexpr int most_single_column_run = 128;
inline constexpr int most_column_cluster = 8;

// Shared memory that a block fills with input.
inline constexpr int block_stage_bytes = 32768;

// Tiles of a row that are dealt to a block's warps.
inline constexpr int most_dealt_tiles = 64;

} // namespace wr::cuda
