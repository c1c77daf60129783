// The tuning numbers that softmax and its gradient share: one set for each architecture that was measured, plain ones
// for the others. No bit depends on them. What a kernel has registers or shared memory for stands beside the kernel.
#pragma once

#include "cuda/common/gpu_facts.h"

#include <cstddef>

namespace wr::cuda {

// The figures are an H200's, as it is and, behind the semicolon, otherwise: TB/s, or us where they say so.
struct RowwisePolicy {
    // Rows of more tiles than this are a cluster's, whose blocks have no fewer warps than this for rows of up to 32
    // tiles: f32 off the boundaries 16384 4.02; 3.88, of 32768 masked 4.19; 4.05, by 4 and by 8.
    std::size_t cta_warps = 8;
    std::size_t least_cluster_warps = 8;

    // With fewer tiles a multiprocessor, rows of more than few_cta_warps are spread over all blocks of a cluster; with
    // as many, a cluster's blocks go where there is room: bf16 32768 3.81; 3.64, but 1 x 131072 f32 3.99; 3.64 us.
    std::size_t few_tiles = 16;
    std::size_t few_cta_warps = 4;

    // Rows off the boundaries that share a warp, by warps a multiprocessor. As many: two stages are awaited at once,
    // bf16 of 301 2.40; 2.20. No more: one stage in turn, 10000 x 301 8.7; 9.5 us. No more: more lanes for each row,
    // masked f32 4224 x 5 4.2; 15.5 us.
    std::size_t staged_warps = 48;
    std::size_t staged_least_warps = 24;
    std::size_t staged_few_warps = 4;

    // Rows and columns of any types, element by element: columns side by side at most, masked f32 100 x 2 1.83; 1.09,
    // but 100 x 4 1.41; 1.57; rows a multiprocessor at least, gradients of 33 f32 5.5; 8.2 us.
    std::size_t striped_columns = 3;
    std::size_t striped_rows = 32;

    // Gradients of rows of any types of up to so many elements are a lane's each: 60000 x 10 f32 6.27; 7.36 us, but
    // 16384 x 77 10.4; 8.20.
    std::size_t blocked_gradient_axis = 16;

    // Ragged rows of up to so many elements share a warp where the mean is a little more than half of that: f32 of 0 to
    // 550 1.50; 1.37, of 0 to 700 1.12; 1.66. The longer ones get so many blocks a multiprocessor.
    std::size_t ragged_axis = 512;
    std::size_t large_row_blocks = 8;

    // Columns off the boundaries side by side, more than which tiles hold: f32 21 x 17 2.05; 2.29, 300 x 19 2.47; 1.52.
    std::size_t column_tile_single_columns = 16;
    // Threads side by side in a tile at least: of f32 vectors, of 16-bit ones and of logarithms and values, off the
    // boundaries. With 16 and 8 f32 of 150 3.57; 3.34, bf16 2.11; 2.57.
    std::size_t column_tile_lanes = 16;
    std::size_t column_tile_narrow_lanes = 8;
    std::size_t column_tile_single_lanes = 32;
    // Threads up to which a tile is one block's where there are clusters, and where threads have more registers (f32 of
    // 256 3.68; 3.29), and that a cluster's blocks have, or half as many.
    std::size_t column_tile_cta_threads = 512;
    std::size_t column_tile_cta_threads_of_more_registers = 384;
    std::size_t column_tile_cluster_threads = 256;
};

inline constexpr RowwisePolicy plain_rowwise_policy{};
inline constexpr RowwisePolicy h200_rowwise_policy{.least_cluster_warps = 4};

inline const RowwisePolicy &rowwise_policy(const GpuFacts &gpu) {
    return gpu.compute_major == 9 ? h200_rowwise_policy : plain_rowwise_policy;
}

// Whether there are so few tiles that each should get a multiprocessor's attention to itself.
inline bool are_few_tiles(std::size_t tiles, const GpuFacts &gpu) {
    return tiles < gpu.on_all(rowwise_policy(gpu).few_tiles);
}

} // namespace wr::cuda
