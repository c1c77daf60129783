// How rows are spread over a GPU: their tiles over the warps of a block or a cluster, rows of any kind, and short ones
// that share a warp.
#pragma once

#include "cuda/common/gpu_facts.h"
#include "cuda/common/launch.h"
#include "cuda/common/vectors.h"
#include "cuda/rowwise/arguments.h"
#include "cuda/rowwise/policy.h"
#include "cuda/softmax/kernels.h"
#include "numerics/host_device.h"
#include "numerics/problem.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace wr::cuda {

struct ClusterSize {
    std::size_t blocks, warps; // of a block; no blocks: there is none
};

// Blocks of `least_warps`, doubled until `cluster_blocks` of them, which are not 0, hold the row.
inline ClusterSize smallest_cluster(std::size_t row_tiles, std::size_t least_warps, std::size_t cluster_blocks) {
    std::size_t warps = least_warps;
    while (warps * cluster_blocks < row_tiles) {
        warps *= 2;
    }
    const std::size_t blocks = divide_up(row_tiles, warps);
    return {blocks, divide_up(row_tiles, blocks)};
}

// The same of blocks that each take a part of the row's tree: a power of two of warps.
inline ClusterSize subtree_cluster(std::size_t row_tiles, std::size_t least_warps, std::size_t cluster_blocks) {
    const std::size_t warps = std::bit_ceil(smallest_cluster(row_tiles, least_warps, cluster_blocks).warps);
    return {divide_up(row_tiles, warps), warps};
}

// Of the clusters whose blocks have `least_warps` to `most_warps` that with the fewest warps, idle ones among them; of
// equals the one with the smallest blocks.
inline ClusterSize fullest_cluster(std::size_t row_tiles, std::size_t least_warps, std::size_t most_warps,
                                   std::size_t cluster_blocks) {
    ClusterSize best{0, 0};
    for (std::size_t most = least_warps; most <= most_warps; ++most) {
        const std::size_t blocks = divide_up(row_tiles, most), warps = divide_up(row_tiles, blocks);
        if (blocks <= cluster_blocks && (best.blocks == 0 || blocks * warps < best.blocks * best.warps)) {
            best = {blocks, warps};
        }
    }
    return best;
}

// Warps and blocks of the clusters that share a row.

// Warps of a block that shares a row: of rows up to so many tiles, of longer ones (cuda/softmax/policy.h), and blocks
// of the clusters that some GPUs may be asked for.
inline constexpr std::size_t softmax_preferred_cluster_warps = 8;
inline constexpr std::size_t softmax_long_cluster_warps = 16;
inline constexpr std::size_t softmax_wide_cluster_blocks = 16;

// How rows whose tiles a block's or a cluster's warps hold in registers (cuda/rowwise/row_tiles.cuh) are put on a
// GPU.

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

// How rows of any kind are spread over a GPU: the same for softmax with options and for its gradient.

// Columns of up to so many elements, however many there are, want no memory for states, which would be larger than they
// are: what no other kernel takes in one launch a thread does by itself.
inline constexpr std::size_t softmax_whole_column_axis = 256;

enum class StridedRegime {
    rows,    // each row by a block of threads or a warp
    splits,  // rows by many blocks: sums of splits, totals, results
    columns, // a thread walks a tile of a column; then totals and results, where there are more
};

struct StridedPlan {
    StridedRegime regime;
    std::size_t rows, blocks; // tiles of a row; of ragged rows unknown
    std::size_t splits;       // of a row, each with a partial result in the workspace; 0: none has one
    std::size_t tiles_a_warp;
    int warps; // of a row, where regime is rows; of ragged rows, of a block that takes as many
    bool ragged;

    // Columns that launch_strided does at once, without memory for states.
    bool has_whole_columns() const { return regime == StridedRegime::columns && blocks == 1; }
};

StridedPlan plan_general(const Shape &shape, bool ragged);

// Of rows each tile of which has a warp, so that they are read once; no warps where they are too long, too many,
// ragged or columns, or where there are no such kernels.
RowTilesPlan plan_whole_rows(const StridedKernels &kernels, const Shape &shape, bool ragged, const GpuFacts &gpu);

// Bytes of the partial results of all rows' splits and of the rows themselves.
std::size_t general_workspace_bytes(const StridedPlan &plan, std::size_t state_bytes);

// `writes`: whether results are wanted too.
cudaError_t launch_strided(const StridedKernels &kernels, const StridedPlan &plan, bool writes,
                           StridedSoftmaxArguments &arguments, cudaStream_t stream);
cudaError_t launch_strided(const StridedKernels &kernels, const StridedPlan &plan, bool writes,
                           SoftmaxBackwardArguments &arguments, cudaStream_t stream);

// How short rows share a warp.

// Of rows of whole vectors the places of a vector that each has, a power of two, and how many rows that leaves room
// for. The exchange needs a row to have as many places as a lane has registers.
struct RowPacking {
    std::size_t places, warp_rows;

    // Of a warp that holds so many elements.
    constexpr RowPacking(std::size_t axis, std::size_t vector_elements, std::size_t warp_elements = softmax_block) {
        const std::size_t vectors = warp_elements / vector_elements; // of a warp
        places = std::max(std::bit_ceil(axis / vector_elements), vectors / warp_threads);
        warp_rows = vectors / places;
    }
};

// The lanes that hold each row of any length, a power of two, and how many times as many rows a warp takes as that
// leaves room for: those that its stage holds, and fewer rows by more lanes where that would leave multiprocessors
// idle.
struct StagedRows {
    std::size_t lanes, batches, warp_rows;

    // One lane may have up to `most_of_a_lane` vectors.
    StagedRows(const Shape &s, std::size_t element_bytes, std::size_t most_of_a_lane, const GpuFacts &gpu) {
        const std::size_t elements = bytes_of_vector / element_bytes;
        const std::size_t registers = softmax_block / warp_threads / elements;
        const std::size_t vectors = divide_up(s.axis, elements);
        const RowwisePolicy &policy = rowwise_policy(gpu);

        lanes = vectors <= most_of_a_lane ? 1 : std::bit_ceil(divide_up(vectors, registers));
        while (lanes < std::min<std::size_t>(std::bit_ceil(vectors), warp_threads) &&
               s.outer * lanes / warp_threads < gpu.on_all(policy.staged_few_warps)) {
            lanes *= 2;
        }
        const std::size_t rows = warp_threads / lanes, stage = warp_threads * (registers + 1) * elements;
        const std::size_t of_stage = softmax_short_row_elements(element_bytes) / (rows * s.axis);
        const std::size_t of_each = s.outer / (rows * gpu.on_all(policy.staged_least_warps));
        batches = std::max<std::size_t>(std::min(stage / (rows * s.axis), of_each), 1);
        if (s.outer >= rows * of_stage * gpu.on_all(policy.staged_warps)) {
            batches = std::max(batches, of_stage);
        }
        warp_rows = rows * batches;
    }
};

// Blocks for rows of which a warp takes so many.
inline Launch short_rows_launch(const void *kernel, std::size_t rows, std::size_t warp_rows, const GpuFacts &gpu) {
    Launch how{kernel, divide_up(rows, warp_rows * softmax_short_row_warps),
               static_cast<int>(softmax_short_row_warps * warp_threads)};
    how.dependent = gpu.dependent_launch;
    return how;
}

} // namespace wr::cuda
