// Where one regime ends and the next begins: every number that was chosen by measuring. docs/performance.md has the
// runs.
#pragma once

#include <cstddef>

namespace wr::cuda::tuning {

// Multiprocessors beyond this are not asked for more blocks, so that a workspace query can answer for every GPU.
inline constexpr int most_multiprocessors = 512;

// Blocks of a cluster: what every GPU with clusters promises. The 16 that some offer have to be asked for at each
// launch.
inline constexpr int cluster_blocks = 8;

// Tiles (4 KiB) that a warp takes of a long row. More give fewer partial results, fewer keep small arrays parallel.
inline constexpr int tiles_a_warp = 8;

// Blocks a multiprocessor should get before warps take more than one tile each.
inline constexpr int blocks_a_multiprocessor = 8;

// Rows up to this many tiles are finished by one cluster in one launch: 1 MiB.
inline constexpr std::size_t cluster_tiles = 256;

// Rows from this many tiles on update one accumulator, where the operator is exact in any order, instead of leaving a
// partial result a block: 1 GiB.
inline constexpr std::size_t shared_row_tiles = 262144;

// Columns: blocks a multiprocessor should get before threads take long runs of rows.
inline constexpr int column_blocks_a_multiprocessor = 4;

// Columns: vectors (16 bytes) that a block takes side by side at least. Where a row has few of them, a line of 128
// bytes leaves more of the block for the rows and saves a stage (2M x 128 f32: 4.33 TB/s); else 512 bytes.
inline constexpr std::size_t few_column_vectors = 64;
inline constexpr std::size_t vectors_across_few = 8;
inline constexpr std::size_t vectors_across_many = 32;

// Softmax of long rows: blocks a multiprocessor should get before warps take more than one base block each.
inline constexpr int softmax_blocks_a_multiprocessor = 8;

} // namespace wr::cuda::tuning
