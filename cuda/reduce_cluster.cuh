// Few rows of middling length: a cluster of blocks shares a row and finishes through distributed shared memory, in one
// launch, with no workspace and no counter.
#pragma once

#include "cuda/reduce_rows.cuh"

#include <cooperative_groups.h>

namespace wr::cuda {

inline constexpr int most_cluster_blocks = 8;
inline constexpr int most_cluster_warps = 16; // of a block

// That all blocks of the cluster run, without a fence: nothing has been written that the others should see.
__device__ __forceinline__ void arrive_at_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed.aligned;");
#endif
}
__device__ __forceinline__ void wait_for_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
#endif
}

// a.pieces blocks form the cluster, the grid is of clusters side by side; all of a block's warps work on its row.
template <class T, class Op>
__global__ void __launch_bounds__(most_cluster_warps *warp_lanes)
    reduce_cluster_rows(const __grid_constant__ RowArguments a) {
#if __CUDA_ARCH__ >= 900
    namespace cg = cooperative_groups;
    take_place_on_stream(a.destination);
    __shared__ typename Op::Accumulator pieces[most_cluster_blocks];
    const auto cluster = cg::this_cluster();
    arrive_at_cluster(); // another block's shared memory may be written once that block runs: waited for below
    const unsigned blocks = static_cast<unsigned>(a.pieces);
    const unsigned row = blockIdx.x / blocks;
    const unsigned piece = blockIdx.x % blocks;
    const std::size_t warp = (static_cast<std::size_t>(piece) << a.warps_log2) + static_cast<std::size_t>(warp_index());
    auto value = warp_reduce<ShiftedAccess<T, Op>, T, Op>(row_at<T>(a, row), Hull{a.hull_begin, a.hull_end},
                                                          warp * static_cast<std::size_t>(a.tiles), a.tiles, a.mapping);
    value = partialBlockReduce<Op, most_cluster_warps>(value, 1 << a.warps_log2);
    wait_for_cluster();
    if (threadIdx.x == 0) {
        *cluster.map_shared_rank(pieces + piece, 0) = Op::settle(value);
    }
    cluster.sync();
    if (piece == 0 && warp_index() == 0) {
        value = lane_index() < static_cast<int>(blocks) ? pieces[lane_index()] : Op::identity();
        deliver<Op>(a, tree_over_lanes<Op>(value, static_cast<int>(blocks)), row, 0);
    }
#endif
}

} // namespace wr::cuda
