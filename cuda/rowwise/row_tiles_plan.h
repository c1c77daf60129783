// How rows whose base blocks a block's or a cluster's warps hold in registers (cuda/rowwise/row_tiles.cuh) are put on a
// GPU.
#pragma once

#include "cuda/common/launch.h"

namespace wr::cuda {

// No warps: rows are too long, or too many for one launch.
struct RowBlocksPlan {
    std::size_t cluster_blocks; // that share a row
    std::size_t warps;          // of a block, along a row
    std::size_t rows_a_block;
    bool dependent; // may take its place before the kernel in front of it on the stream has finished
    bool balanced;  // clusters' blocks go where there is room
};

// Warps of a block along a row: as many as a kernel's blocks may have, as a row that is one block's may have where
// there are clusters and many rows, and as a cluster's blocks should have at least, for rows of up to 32 base blocks
// and for longer ones.
struct RowBlockWarps {
    std::size_t most, of_one, of_cluster, of_long_row;
};

// For rows of `blocks` base blocks.
RowBlocksPlan plan_row_blocks(std::size_t rows, std::size_t blocks, const RowBlockWarps &warps, const GpuFacts &gpu);

Launch row_blocks_launch(const void *kernel, const RowBlocksPlan &plan, std::size_t rows);
cudaError_t launch_row_blocks(const void *kernel, const RowBlocksPlan &plan, std::size_t rows, void *arguments,
                              cudaStream_t stream);

} // namespace wr::cuda
