// How rows whose base blocks a block's or a cluster's warps hold in registers (cuda/row_blocks.cuh) are put on a GPU.
#pragma once

#include "cuda/launch.h"

namespace wr::cuda {

// No warps: rows are too long, or too many for one launch.
struct RowBlocksPlan {
    std::size_t cluster_blocks; // that share a row
    std::size_t warps;          // of a block, along a row
    std::size_t rows_a_block;
    bool dependent; // may take its place before the kernel in front of it on the stream has finished
    bool balanced;  // clusters' blocks go where there is room
};

// For rows of `blocks` base blocks, and kernels whose blocks may have up to `most_warps`. Rows of more than 32 base
// blocks get blocks of `long_row_warps` or more.
RowBlocksPlan plan_row_blocks(std::size_t rows, std::size_t blocks, std::size_t most_warps, std::size_t long_row_warps,
                              const GpuFacts &gpu);

// warp_bytes: of shared memory, that each warp is to have.
cudaError_t launch_row_blocks(const void *kernel, const RowBlocksPlan &plan, std::size_t rows, void *arguments,
                              cudaStream_t stream, std::size_t warp_bytes = 0);

} // namespace wr::cuda
