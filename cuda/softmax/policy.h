// The tuning numbers of softmax: one set for each architecture that was measured, plain ones for the others. No bit
// depends on them. What a kernel has registers or shared memory for stands beside the kernel, and what softmax shares
// with its gradient in cuda/rowwise/policy.h.
#pragma once

#include "cuda/common/gpu_facts.h"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace wr::cuda {

// The figures are an H200's, by the rule and, behind the semicolon, without it: TB/s, or us where they say so. "A
// multiprocessor": as many for each. The values here are those of GPUs that nobody has measured: no rule that pays by a
// few hundredths, and none that knows how many multiprocessors there are.
struct SoftmaxPolicy {
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    // Few rows spread over lanes: warps a multiprocessor at most, of rows of up to lane_row_axis, of log-softmax and
    // the logsumexp alone, of others: 16384 x 8 f32 1.82; 3.08 us, 8 x 1000 log 2.20; 3.46, 64 x 1024 2.03; 2.41.
    std::size_t spread_lane_row_warps = 8;
    std::size_t spread_logarithm_warps = 8;
    std::size_t spread_warps = 8;
    std::size_t spread_lane_row_axis = 16;
    // Of up to so many elements off the boundaries, of logarithms and of vectors, of the logsumexp alone, with few
    // elements a lane: 8 x 2048 f32 1.71; 2.13 us, log 1.88; 2.14, the logsumexp of 64 x 4096 2.27; 2.89.
    std::size_t spread_axis = 1024;
    std::size_t spread_logarithm_axis = 1024;
    std::size_t spread_logsumexp_axis = 1024;
    // More short rows of vectors, of f32, of logarithms and the logsumexp alone; of 16-bit softmax: 8192 x 100 log f32
    // 3.06; 3.84 us, bf16 3.44; 4.47, 1024 x 512 bf16 2.02; 2.74, but 65536 x 512 bf16 37.7; 34.5. f32 rows have two
    // vectors a lane up to two_vectors_axis, else four: 32768 x 64 5.8; 6.2 by four, 16384 x 128 log 5.3; 4.8.
    std::size_t spread_many_warps = 0;
    std::size_t spread_narrow_many_warps = 0;
    std::size_t spread_two_vectors_axis = 64;
    // Rows of vectors with a block each and more elements a lane, f32, 16-bit ones, the logsumexp alone: 1024 x 2048
    // f32 4.25; 5.20 us, log 4.85; 5.33, 1024 x 1024 bf16 log 2.54; 3.17, the logsumexp of 1024 x 4096 f32 6.4; 7.0,
    // bf16 4.9; 5.4. Up to block_axis, and of many rows twice that: 64 x 8192 bf16 log 2.78; 3.23, but 1 x 8192
    // f32 2.67; 2.11.
    std::size_t spread_block_warps = 0;
    std::size_t spread_block_narrow_warps = 0;
    std::size_t spread_block_logsumexp_warps = 0;
    std::size_t spread_block_axis = 4096;

    // Rows that touch each other and share a warp: f32 of 128 4.11; 2.45. Of whole vectors of 16-bit elements longer
    // ones too, but their logarithms and those with row values: 4096 x 1000 bf16 5.59; 6.82 us, 65536 x 768 off the
    // boundaries 63; 60.
    std::size_t sub_warp_axis = 512;
    std::size_t sub_warp_narrow_vector_axis = 512;
    // f32 rows off the boundaries of a power of two between these, some elements left out, would ask the same banks of
    // shared memory: 16, 32 2.24; 1.70, 2.58; 1.01, but 128 2.58; 2.64.
    std::size_t staged_least_clash = 16;
    std::size_t staged_most_clash = 64;
    // Element by element, of f32 rows and of narrower ones, or where whole vectors have a warp or more for each row:
    // masked f32 of 401 2.09; 1.71, of 513 1.60; 2.03, bf16 of 255 1.30; 0.83, of 301 0.88; 0.98.
    std::size_t blocked_axis = 512;
    std::size_t blocked_narrow_axis = 256;

    // Clusters have blocks of 8 warps for rows of up to so many tiles, of 16 for longer ones: f32 65536 4.17; 3.92, but
    // bf16 3.57; 3.75.
    std::size_t cluster_tiles = 32;
    std::size_t cluster_narrow_tiles = 64;
    // 16 blocks share a row of more tiles than the first where there are fewer than wide_cluster_few_tiles a
    // multiprocessor (1 x 131072 f32 4.4; 5.3 us), and of more than the last in any case (262144 f32 3.74; 3.45).
    std::size_t wide_cluster_tiles = never;
    std::size_t wide_cluster_few_tiles = 0;
    std::size_t wide_cluster_long_tiles = never;
    // Clusters take their places before the kernel in front has finished, but for these many tiles a multiprocessor: 1
    // x 131072 f32 4.54; 5.26 us, bf16 4.69; 5.33, but 32 x 32000 f32 6.58; 5.35.
    std::size_t undependent_least_tiles = 0;
    std::size_t undependent_most_tiles = 0;

    // Look-back has rows of more tiles than the first: f32 40000 4.14; 4.00, with the logsumexp 4.01; 3.47, bf16 40960
    // 3.87; 3.83; logarithms and those off the boundaries of more than the second, of 16 bits the third: f32 log
    // 25600 3.97; 3.61, off the boundaries 28672 3.99; 3.55, bf16 20480 3.98; 3.43, 3.75; 3.14; f32 that are both:
    // 14336 4.03; 2.86.
    std::size_t lookback_tiles = 32;
    std::size_t lookback_logarithm_tiles = 32;
    std::size_t lookback_narrow_logarithm_tiles = 32;
    std::size_t lookback_unaligned_logarithm_tiles = 32;
    // With so many tiles a multiprocessor: rows of more than 192 or that would be read twice (262144 with 31 f32 1.85;
    // 1.79), f32 ones (100000 with 93 3.18; 3.05, but 64 x 128256 with 61 in us 22.1; 21.1), those off the boundaries
    // (50257 with 35 2.45; 1.75), 16-bit ones (us: 900 x 32768 off the boundaries 42.3; 35.2, 600 x 50304 38.9; 38.2),
    // those off the boundaries of more than lookback_tiles (620 x 50257 43.2; 50.5).
    std::size_t lookback_long_load = 96;
    std::size_t lookback_load = 96;
    std::size_t lookback_unaligned_load = 96;
    std::size_t lookback_narrow_load = 240;
    std::size_t lookback_unaligned_narrow_load = 240;

    // Look-back has f32 columns of vectors of more elements, where there are so many tiles of 128 x 64 a
    // multiprocessor: 8192 x 64K 3.66; 3.20, 8192 x 1280 with 10 2.16; 2.14, 16384 x 256 with 4 1.55; 1.17.
    std::size_t lookback_column_axis = 1024;
    std::size_t lookback_column_load = 8;
    // A panel has so many tiles a multiprocessor at most: more would wait too long, 49152 x 10880 3.54; 2.64, 65536 x
    // 8K 2.10; 2.64.
    std::size_t lookback_column_most_tiles = 2;

    // The kernels of rows of which elements are left out have those of vectors into other types of up to so many tiles,
    // and so many of 16 bits: bf16 into f32 8192 1794; 2201 us, log 1024 1596; 2176; but 65536 2121; 2040, and f32 into
    // bf16 16384 x 4096 103; 95, 1024 x 65536 129; 102.
    std::size_t masked_rows_tiles = 32;
    std::size_t masked_rows_narrow_tiles = 64;

    // The lengths of rows that so many elements lie ahead are asked for beforehand: f32 4096 3.82; 3.68,
    // 32768 3.79; 3.72.
    std::size_t length_ahead = std::size_t{1} << 21;

    // Columns of up to so many elements are tiles in registers, those of the logsumexp alone by type and off the
    // boundaries: f32 600 x 50001 1.86; 1.62, masked 512 2.87; 1.15; the logsumexp of f32 384 2.64; 2.43, of bf16
    // 256 1.72; 1.28, of 600 x 1001 0.89; 0.26.
    std::size_t column_tile_axis = 1024;
    std::size_t column_tile_logsumexp_axis = 384;
    std::size_t column_tile_single_logsumexp_axis = 1024;
    // Threads of a block that has tiles to itself: bf16 of 8 and 21 3.06, 3.03; 2.99, 2.93 by 256.
    std::size_t column_tile_threads = 128;
    // Shorter columns without kernels of their own, f64 and scaled 16 bits, are held by threads: f64 64 2.63; 0.68, but
    // 200 1.53; 2.32.
    std::size_t register_tile_axis = 129;
    // Columns of vectors of this many are read twice, a block a multiprocessor or more: bf16 2048 x 32768 153; 193 us.
    std::size_t two_pass_column_axis = 769;

    // Ragged rows: warps a multiprocessor that groups of rows should come to: f32 of 0 to 4096 by groups of
    // 8 2.45; 2.13 by
    // 2. Offsets are asked for so many groups ahead.
    std::size_t ragged_warps = 128;
    std::size_t ragged_groups_ahead = 1024;

    // The logsumexp alone has kernels of its own for rows of one tile where there are no more tiles a multiprocessor,
    // and for longer ones where there are more (16384 x 8192 f32 132; 162 us, 64 x 128256 15.9; 17.2), and for so many
    // rows of more than a cluster holds (64 x 2^20 71; 74).
    std::size_t logsumexp_few_tiles = 60;
    std::size_t logsumexp_long_rows = 16;
    // There a warp reads so many tiles one after the other, while that leaves so many jobs, several for every warp that
    // a GPU holds: bf16 of 1024 with 2, 3, 4, 8 838, 765, 742, 688 us.
    std::size_t logsumexp_run = 8;
    std::size_t logsumexp_warp_units = 12288;
    // Rows of up to so many tiles may be one warp's, and of so many rows those that would leave some of a block's warps
    // without a tile: 8192 x 2048 f32 23; 65 us, 2048 x 4096 bf16 10.4; 15.4, but 4096 x 16384 f32 90; 71.
    std::size_t logsumexp_warp_tiles = 16;
    std::size_t logsumexp_warp_rows = 12288;
    // Others are blocks': as many jobs as there should be, before rows of more tiles than the second are cut into
    // splits, which take a second launch.
    std::size_t logsumexp_block_units = 1536;
    std::size_t logsumexp_one_launch_tiles = 64;
};

inline constexpr SoftmaxPolicy plain_softmax_policy{};

inline constexpr SoftmaxPolicy h200_softmax_policy{
    .spread_lane_row_warps = 64,
    .spread_logarithm_warps = 16,
    .spread_logarithm_axis = 2048,
    .spread_logsumexp_axis = 4096,
    .spread_many_warps = 128,
    .spread_narrow_many_warps = 32,
    .spread_block_warps = 32,
    .spread_block_narrow_warps = 16,
    .spread_block_logsumexp_warps = 64,
    .sub_warp_narrow_vector_axis = 1008,
    .wide_cluster_tiles = 32,
    .wide_cluster_few_tiles = 128,
    .wide_cluster_long_tiles = 128,
    .undependent_least_tiles = 4,
    .undependent_most_tiles = 32,
    .lookback_logarithm_tiles = 24,
    .lookback_narrow_logarithm_tiles = 18,
    .lookback_unaligned_logarithm_tiles = 10,
    .lookback_long_load = 24,
    .lookback_load = 80,
    .lookback_unaligned_load = 50,
    .lookback_unaligned_narrow_load = 100,
    .lookback_column_load = 4,
    .lookback_column_most_tiles = 3,
    .logsumexp_warp_rows = 2048,
};

// Shorter rows of these have no other kernels (instance.cuh).
inline constexpr bool has_kernels(const SoftmaxPolicy &p) {
    return p.masked_rows_tiles >= 32 && p.masked_rows_narrow_tiles >= 64;
}
static_assert(has_kernels(plain_softmax_policy) && has_kernels(h200_softmax_policy));

inline const SoftmaxPolicy &softmax_policy(const GpuFacts &gpu) {
    return gpu.compute_major == 9 ? h200_softmax_policy : plain_softmax_policy;
}

} // namespace wr::cuda
