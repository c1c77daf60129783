// Few rows of middling length: a cluster of blocks shares a row and finishes through distributed shared memory, in one
// launch, with no workspace and no counter.
#pragma once

#include "cuda/reduce/rows.cuh"

namespace wr::cuda {

inline constexpr int most_cluster_warps = 16; // of a block

// The result of `tiles` tiles of a row, in lane 0. Two that lie on the boundaries are on their way at the same time: a
// cluster's warps are too few to make up for one that waits.
template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator
cluster_warp_reduce(const Row<T> &row, ReadableRange readable_range, std::size_t first, int tiles, const Mapping &m) {
    static_assert(!Op::positional);
    const char *at = reinterpret_cast<const char *>(row.data) + first * tile_bytes;
    if (tiles == 2 && (first + 2) * tile_elements<T> <= row.count && offset_in_vector(at) == 0) {
        uint4 lower[tree_registers], upper[tree_registers];
        load_aligned_tile(at, lower);
        load_aligned_tile(at + tile_bytes, upper);
        __syncwarp(); // or the compiler asks for the upper ones once it has used the lower
        const Weights<T, Op, tree_registers> none(m, 0, 0);
        const auto of_lower = result_of_vectors<T, Op>(lower, none, m, 0);
        const auto both = Op::combine(of_lower, result_of_vectors<T, Op>(upper, none, m, 0));
        return Op::order_free ? tree_over_lanes<Op>(both, warp_lanes) : both;
    }
    return warp_reduce<UnalignedAccess<T, Op>, T, Op>(row, readable_range, first, tiles, m);
}

// a.splits blocks form the cluster, the grid is of clusters side by side; all of a block's warps work on its row.
template <class T, class Op>
__global__ void __launch_bounds__(most_cluster_warps *warp_lanes)
    reduce_cluster_rows(const __grid_constant__ RowArguments a) {
    pdl_wait_and_release();
    __shared__ typename Op::Accumulator splits[most_cluster_blocks];
    join_cluster(); // another block's shared memory may be written once that block runs: waited for below
    const unsigned blocks = static_cast<unsigned>(a.splits);
    const unsigned row = blockIdx.x / blocks;
    const unsigned split = blockIdx.x % blocks;
    const std::size_t warp = (static_cast<std::size_t>(split) << a.warps_log2) + static_cast<std::size_t>(warp_index());
    auto value = cluster_warp_reduce<T, Op>(row_at<T>(a, row), a.readable_range,
                                            warp * static_cast<std::size_t>(a.tiles), a.tiles, a.mapping);
    value = partialBlockReduce<Op, most_cluster_warps>(value, 1 << a.warps_log2);
    await_cluster();
    finish_cluster<Op>(a, splits, value, row, split);
}

} // namespace wr::cuda
