// Short columns: how arrays of them are cut into tiles that the registers of a block's threads hold, or of a cluster's,
// and how the threads share a tile. Plain data: host and GPU share it.
#pragma once

#include "numerics/problem.h"

#include <cstddef>
#include <cstdint>

namespace wr::cuda {

// Short columns, of which the registers of a block or a cluster hold a tile: threads that blocks should have which have
// tiles to themselves, of softmax and of its gradient (H200, TB/s, by 256 and 128 threads: f32 of 4 3.91 and 4.07, 16
// 3.79 and 3.81, bf16 of 8 and 21 2.99, 2.93 and 3.06, 3.03; the gradient of bf16 21 3.40 and 3.27); up to how many a
// tile is one block's, where there are clusters, and where threads have more registers (f32 of 200, 256, whose 400 and
// 512 threads leave a multiprocessor room for one or two blocks, 2.83, 3.29, in clusters 3.51, 3.68; but bf16 of 200
// 2.80 and 2.44); threads that a cluster's blocks should have, and half of it where that leaves fewer of them without
// rows.
inline constexpr std::size_t softmax_column_tile_threads = 128;
inline constexpr std::size_t softmax_backward_column_tile_threads = 256;
inline constexpr std::size_t column_tile_lone_threads = 512;
inline constexpr std::size_t column_tile_lone_threads_of_more_registers = 384;
inline constexpr std::size_t column_tile_cluster_threads = 256;

// Threads side by side in a tile at least, of columns that are whole vectors; of 16-bit ones and of f32 ones'
// logarithms and values; of columns off the boundaries (with 16 and 8: f32 of 150, 256, 512 3.57, 3.50, 3.58
// and 3.34, 3.28, 3.35; bf16 2.11, 2.48, 2.24 and 2.57, 2.66, 2.36; log f32 200, 384 2.96, 3.19 and 3.36, 3.48, with
// logsumexp 200, 300 2.63, 2.87 and 3.00, 3.03).
inline constexpr std::size_t column_tile_lanes = 16;
inline constexpr std::size_t column_tile_narrow_lanes = 8;
inline constexpr std::size_t column_tile_single_lanes = 32;

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
bool is_column_tile(const Shape &shape, std::size_t most, bool whole);

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

} // namespace wr::cuda
