// How many warps and blocks share a row whose tiles stay in registers. Plain data: host and GPU share it.
#pragma once

#include <cstddef>

namespace wr::cuda {

// Softmax: rows of up to so many tiles (of f32 and f64, of 16-bit elements) are one block's on GPUs with clusters
// too. Beyond, blocks of 8 warps share a row of up to so many tiles, blocks of 16 a longer one (H200, f32 of
// 65536 by blocks of 8 and of 16: 3.92 and 4.17 TB/s; bf16 3.75 and 3.57).
inline constexpr std::size_t softmax_row_warps = 8;
inline constexpr std::size_t softmax_narrow_row_warps = 8;
inline constexpr std::size_t softmax_short_cluster_row = 32;
inline constexpr std::size_t softmax_narrow_short_cluster_row = 64;
inline constexpr std::size_t softmax_preferred_cluster_warps = 8;
inline constexpr std::size_t softmax_long_cluster_warps = 16;

// Blocks of clusters for f32 rows of up to 32 tiles have no fewer warps than this: there is room for a small
// block more often (by blocks of 8 and of 4 warps: rows off the boundaries of 16384 and 32768 3.88 and 4.02, 3.80
// and 3.90, but of 10000, with two of 12 warps idle, 3.32 and 3.19; of 32768 masked 4.05 and 4.19, lengths 3.89
// and 3.95, causal 3.84 and 3.89, masked log-softmax 3.47 and 3.62; but bf16 lengths 3.01 and 2.77).
inline constexpr std::size_t softmax_least_cluster_warps = 4;

// Softmax: with fewer tiles a multiprocessor than this, rows of more than softmax_small_row_warps are spread over
// as many blocks as a cluster has. With as many or more, the blocks of clusters go where there is room, instead of as
// far apart as they can, of 16-bit rows, rows off the boundaries or into another type, and rows with masks or lengths
// (H200, TB/s, apart and where there is room, in turn: bf16 of 32768 3.64 and 3.81, of 65536 3.84 and 3.95, of
// 262144 3.14 and 3.28, of 32000 3.32 and 3.49, of 50257 2.61 and 2.68; lengths of 32768 f32 3.61 and 3.70, bf16 2.59
// and 2.75, causal 3.54 and 3.72, 2.57 and 2.74; 64 x 131072 bf16 10.83 and 10.29 us; but bf16 of 131072 3.38 and 3.34,
// f32 of 65536 4.17 and 4.14, of 262144 3.98 and 3.95, and 1 x 131072 f32 3.64 and 3.99 us from a graph).
inline constexpr std::size_t softmax_few_tiles = 16;
inline constexpr std::size_t softmax_small_row_warps = 4;

// Softmax: 16 blocks share a row, where the GPU can have such clusters, of more tiles than this where there are
// fewer tiles a multiprocessor than softmax_wide_tiles (H200, 1 x 131072 f32: 4.4 us in a graph, with 8 blocks
// 5.3; 64 x 131072: 23.5 us and 26), and of more than softmax_wide_long_row_tiles in any case: two blocks of 16
// warps to a multiprocessor instead of one of 32 (262144 f32: 3.74 TB/s, with 8 blocks 3.45; bf16 3.26 and 3.15).
inline constexpr std::size_t softmax_wide_cluster_blocks = 16;
inline constexpr std::size_t softmax_wide_tiles = 128;
inline constexpr std::size_t softmax_wide_row_tiles = 32;
inline constexpr std::size_t softmax_wide_long_row_tiles = 128;

} // namespace wr::cuda
