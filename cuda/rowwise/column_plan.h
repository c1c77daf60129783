// Short columns: how arrays of them are cut into tiles that the registers of a block's threads hold, or of a cluster's,
// and how the threads share a tile. Plain data: host and GPU share it.
#pragma once

#include "numerics/problem.h"

#include <cstddef>
#include <cstdint>

namespace wr::cuda {

struct GpuFacts;

// Each thread of a tile has some neighbouring columns, as many as a vector has elements, of a run of rows.
struct ColumnTiles {
    std::uint32_t count, across; // of all arrays, of one array [axis][inner]
    std::int32_t log_lanes;      // threads side by side
    std::int32_t runs;           // threads of a block below each other
    std::int32_t a_block;        // tiles of a block
    std::int32_t rows;           // of a thread, at most
    std::int32_t cluster_blocks; // that share a tile, below each other: more than one where a_block is 1
};

// The rows that kernels let a thread have, powers of two, and threads.
struct ColumnTileThreads {
    int least_rows, most_rows;
    std::size_t fair;  // of a block that has tiles to itself
    std::size_t lone;  // up to how many a tile is one block's, where there are clusters
    std::size_t most;  // of a block
    std::size_t lanes; // side by side in a tile of whole vectors, at least
};

inline constexpr int column_tile_most_threads = 1024;

// How many threads a block has, and what they share.
struct ColumnTilePlan {
    ColumnTiles tiles;
    int threads; // 0: not supported

    bool has_own_tiles() const { return tiles.cluster_blocks == 1; }
    std::size_t blocks() const {
        return divide_up(std::size_t{tiles.count}, static_cast<std::size_t>(tiles.a_block)) *
               static_cast<std::size_t>(tiles.cluster_blocks);
    }
};

// Whether columns of up to `most` elements are worth it: few odd ones side by side are quicker one by one.
bool is_column_tile(const Shape &shape, std::size_t most, bool whole, const GpuFacts &gpu);

// Whole: columns are whole vectors on their boundaries.
ColumnTilePlan plan_column_tiles(const Shape &shape, std::size_t element_bytes, const ColumnTileThreads &threads,
                                 bool whole, const GpuFacts &gpu);

// Runs whose values a thread puts together at a time.
inline constexpr std::size_t column_tile_fold = 8;

// How often the blocks of a cluster tell each other something, at most.
inline constexpr int column_tile_exchanges = 3;

// Where a block keeps what in the shared memory that it gets by its launch: first the values that its threads leave for
// each other, of `value_bytes` each, and what they are folded to; then so many bytes for each column; then what
// the blocks of a cluster send. Threads have `each` columns.
struct ColumnTileMemory {
    std::uint32_t columns_at, sent_at, bytes;

    ColumnTileMemory(const ColumnTilePlan &plan, std::size_t each, std::size_t value_bytes, std::size_t column_bytes);
    ColumnTileMemory() = default;
};

// How such a kernel is put on the stream.
struct Launch;
Launch column_tile_launch(const void *kernel, const ColumnTilePlan &plan, const ColumnTileMemory &memory,
                          const GpuFacts &gpu);

// Columns that are walked downwards: how they are cut into tiles, each a block's. A thread walks the rows of one vector
// of columns, several threads below each other a tile.

struct TwoPassColumnTiles {
    std::uint32_t across, down; // of one array [axis][inner]
    std::int32_t log_across;    // vectors of a tile side by side
};

inline constexpr int two_pass_column_threads = 256;
inline constexpr int two_pass_column_runs = 8; // threads of a tile

// Tiles as wide as a warp, or as there are columns, and then of more tiles.
TwoPassColumnTiles cut_into_two_pass_column_tiles(const Shape &shape, std::size_t element_bytes);

// All tiles of a shape; 0 where they are more than one launch's.
std::size_t count_two_pass_column_tiles(const Shape &shape, std::size_t element_bytes);

} // namespace wr::cuda
