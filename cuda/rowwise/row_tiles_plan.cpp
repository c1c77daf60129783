#include "cuda/rowwise/row_tiles_plan.h"

#include "cuda/common/warp.h"
#include "cuda/rowwise/policy.h"

namespace wr::cuda {

namespace {

constexpr std::size_t least_block_warps = 4; // where a row takes fewer, several share a block

RowTilesPlan plan_any_number(std::size_t rows, std::size_t blocks, const RowTileWarps &wanted, const GpuFacts &gpu) {
    const auto most_cluster = static_cast<std::size_t>(gpu.cluster_blocks);
    const bool few = are_few_tiles(rows * blocks, gpu);
    const bool spreads = few && rows < static_cast<std::size_t>(gpu.multiprocessors); // else each has a row
    const std::size_t most_of_one = most_cluster == 0 ? wanted.most
                                    : spreads         ? rowwise_policy(gpu).few_cta_warps
                                                      : wanted.of_one;
    if (blocks <= most_of_one) {
        return {1, blocks, blocks < least_block_warps ? least_block_warps / blocks : 1, gpu.dependent_launch, false};
    }
    if (blocks > most_cluster * wanted.most) {
        return {};
    }
    const bool is_long = blocks > warp_threads;
    const std::size_t least = is_long ? wanted.of_long_row : wanted.of_cluster;
    const ClusterSize cluster =
        cluster_of_row(rows, blocks, least, is_long ? least : softmax_preferred_cluster_warps, gpu);
    return {cluster.blocks, cluster.warps, 1, gpu.dependent_launch, !few};
}

} // namespace

ClusterSize cluster_of_row(std::size_t rows, std::size_t tiles, std::size_t least_warps, std::size_t most_warps,
                           const GpuFacts &gpu) {
    const auto blocks = static_cast<std::size_t>(gpu.cluster_blocks);
    const bool few = are_few_tiles(rows * tiles, gpu);
    const ClusterSize fullest = few ? ClusterSize{0, 0} : fullest_cluster(tiles, least_warps, most_warps, blocks);
    return fullest.blocks != 0 ? fullest : smallest_cluster(tiles, few ? 1 : most_warps, blocks);
}

RowTilesPlan plan_row_tiles(std::size_t rows, std::size_t blocks, const RowTileWarps &warps, const GpuFacts &gpu) {
    const RowTilesPlan plan = plan_any_number(rows, blocks, warps, gpu);
    const bool one_launch = plan.warps != 0 && rows <= most_blocks / plan.cluster_blocks * plan.rows_a_block;
    return one_launch ? plan : RowTilesPlan{};
}

RowTilesPlan plan_wide_cluster(std::size_t rows, std::size_t blocks, const GpuFacts &gpu) {
    if (blocks > softmax_wide_cluster_blocks * softmax_long_cluster_warps ||
        rows > most_blocks / softmax_wide_cluster_blocks) {
        return {};
    }
    const bool few = are_few_tiles(rows * blocks, gpu);
    const std::size_t warps = divide_up(blocks, softmax_wide_cluster_blocks);
    return {divide_up(blocks, warps), warps, 1, gpu.dependent_launch, !few};
}

Launch row_tiles_launch(const void *kernel, const RowTilesPlan &plan, std::size_t rows) {
    return {.kernel = kernel,
            .blocks = divide_up(rows, plan.rows_a_block) * plan.cluster_blocks,
            .threads = static_cast<int>(plan.warps * warp_threads),
            .thread_rows = static_cast<int>(plan.rows_a_block),
            .cluster_blocks = static_cast<int>(plan.cluster_blocks),
            .dependent = plan.dependent,
            .load_balanced = plan.load_balanced};
}

cudaError_t launch_row_tiles(const void *kernel, const RowTilesPlan &plan, std::size_t rows, void *arguments,
                             cudaStream_t stream) {
    return launch(row_tiles_launch(kernel, plan, rows), arguments, stream);
}

} // namespace wr::cuda
