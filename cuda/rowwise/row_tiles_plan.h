// How rows whose tiles a block's or a cluster's warps hold in registers (cuda/rowwise/row_tiles.cuh) are put on a
// GPU.
#pragma once

#include "cuda/common/cluster_shape.h"
#include "cuda/rowwise/cluster_sizes.h"

namespace wr::cuda {

// The cluster that shares a row, on GPUs that have some: of enough rows the one that leaves the fewest warps behind the
// row's end whose blocks have so many warps, of few rows the one with the most blocks.
ClusterSize cluster_of_row(std::size_t rows, std::size_t tiles, std::size_t least_warps, std::size_t most_warps,
                           const GpuFacts &gpu);

// No warps: rows are too long, or too many for one launch.
struct RowTilesPlan {
    std::size_t cluster_blocks; // that share a row
    std::size_t warps;          // of a block, along a row
    std::size_t rows_a_block;
    bool dependent;     // may take its place before the kernel in front of it on the stream has finished
    bool load_balanced; // clusters' blocks go where there is room
};

// Warps of a block along a row: as many as a kernel's blocks may have, as a row that is one block's may have where
// there are clusters and many rows, and as a cluster's blocks should have at least, for rows of up to 32 tiles
// and for longer ones.
struct RowTileWarps {
    std::size_t most, of_one, of_cluster, of_long_row;
};

// For rows of `blocks` tiles.
RowTilesPlan plan_row_tiles(std::size_t rows, std::size_t blocks, const RowTileWarps &warps, const GpuFacts &gpu);

// The same by clusters of up to softmax_wide_cluster_blocks, more than every GPU allows.
RowTilesPlan plan_wide_cluster(std::size_t rows, std::size_t blocks, const GpuFacts &gpu);

Launch row_tiles_launch(const void *kernel, const RowTilesPlan &plan, std::size_t rows);
cudaError_t launch_row_tiles(const void *kernel, const RowTilesPlan &plan, std::size_t rows, void *arguments,
                             cudaStream_t stream);

} // namespace wr::cuda
