// How a row's tiles are spread over the warps of a cluster.
#pragma once

#include "cuda/common/launch.h"
#include "numerics/host_device.h"

#include <bit>

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

} // namespace wr::cuda
