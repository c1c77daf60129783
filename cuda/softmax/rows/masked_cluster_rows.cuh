// The same rows by clusters of a.cluster_blocks blocks, a row each. Blocks of which nothing is left are not told of the
// others, and do not stay to be.
#pragma once

#include "cuda/softmax/rows/masked_rows.cuh"

namespace wr::cuda {

// Of this block's warps those that have a tile of its row's `blocks`.
__device__ __forceinline__ int warps_present(int blocks) {
    const int warps = static_cast<int>(blockDim.x / warp_lanes);
    return smaller(warps, blocks - static_cast<int>(block_in_cluster()) * warps);
}

// Rows that are cut off have no registers for a logarithm by one warp of each block (bf16, lengths of 32768: 1032 us by
// one, 989 by each; masked 1400 by one, 1412 by each).
template <class Rows>
inline constexpr bool one_takes_logarithm = Rows::log && Rows::masked;

// The row of `count` tiles by PerLane states a lane, which are read twice: a lane's exponentials leave registers for no
// more.
template <int PerLane, class State>
__device__ __forceinline__ auto merge_read_twice(const State *states, int count) {
    using Sum = decltype(State::sum);
    const int first = lane_index() * PerLane;
    static_assert(state_place(PerLane - 1) == PerLane - 1); // a lane's are neighbours
    const State *const own = states + state_place(first);
    std::int32_t largest = absent_n;
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
        largest = first + i < count ? larger(largest, own[i].n) : largest;
    }
    const std::int32_t row_n = __reduce_max_sync(whole_warp, largest);
    asm volatile("" ::: "memory");
    Sum sums[PerLane];
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
        sums[i] = first + i < count ? scale_by_power(own[i].sum, own[i].n - row_n) : Sum(0);
    }
    return RowView<Sum>{tree_over_lanes<FloatSum<Sum>>(run_sum<PerLane, Sum>(sums), warp_lanes), row_n};
}

template <class Rows>
__device__ __forceinline__ void softmax_masked_row_of_cluster(const MaskedRowsArguments &a) {
#if __CUDA_ARCH__ >= 900
    using T = typename Rows::Element;
    using Sum = typename Rows::Sum;
    using State = TileState<float, Sum>;
    __shared__ State states[state_place(masked_cluster_states)], own[masked_cluster_warps];
    __shared__ Mbarrier arrivals;
    __shared__ LogRow<float> log_row_of_block;
    if (thread_x_again() == 0) {
        arrivals.initialise();
    }
    __syncwarp(); // the warp may initialise by any lane: racecheck wants to see that they meet
    pdl_wait_and_release();
    const int warps = static_cast<int>(blockDim.x / warp_lanes), warp = same_in_warp(warp_again());
    const MaskedTile mine(a, cluster_number(), 0, static_cast<int>(block_in_cluster()) * warps + warp);
    join_cluster();
    if (mine.count <= 0) {
        if (mine.blocks == 0) {
            finish_empty_masked<T>(a, mine);
        } else if constexpr (!deals_out_left_out<Rows>) {
            store_left_out<Rows>(a, mine);
            __threadfence(); // others may overwrite these outputs
            await_cluster();
        }
        return;
    }
    if (thread_x_again() == 0) {
        arrivals.announce(static_cast<unsigned>(mine.blocks) * static_cast<unsigned>(sizeof(State)));
    }
    const auto data = [&] { return mine.in(static_cast<const T *>(a.input), a.outer_stride); };
    TileLogits<T, Rows> x(a, data(), mine.count);
    if constexpr (deals_out_left_out<Rows>) {
        store_dealt_out<Rows>(a, mine);
    }
    float e[lane_elements];
    masked_row_state<Rows>(a, data, mine, x, e, own + warp);
    __syncwarp();
    await_cluster();
    if (lane_index() * warps < mine.blocks) {
        arrivals.send(static_cast<unsigned>(lane_index()), states + state_place(mine.block), own[warp]);
    }
    if constexpr (one_takes_logarithm<Rows>) {
        if (thread_x_again() < static_cast<int>(warp_lanes)) {
            arrivals.wait();
            find_log_row(states, mine.blocks, &log_row_of_block);
        }
        wait_at_row_barrier(0, warps_present(mine.blocks));
    } else {
        arrivals.wait();
    }
    bool finished;
    if constexpr (one_takes_logarithm<Rows>) {
        finished = finish_masked_log<Rows>(a, mine, log_row_of_block, x);
    } else if constexpr (Rows::log) {
        finished = finish_masked_log<Rows>(a, mine, log_row(merge_any_states(states, mine.blocks)), x);
    } else {
        const RowView<Sum> row = mine.blocks <= warp_lanes ? merge_states<1, warp_lanes>(states, mine.blocks)
                                 : mine.blocks <= 4 * warp_lanes
                                     ? merge_read_twice<4>(states, mine.blocks)
                                     : merge_read_twice<masked_cluster_states / warp_lanes>(states, mine.blocks);
        finished = finish_masked<Rows>(a, mine, own[warp].n, row, e);
    }
    if (!finished) {
        finish_special_masked<Rows, true>(a, mine, states);
    }
    if (wants_row_values(a) && mine.block == 0) {
        store_row_values(a, merge_any_states(states, mine.blocks), mine.row);
    }
#endif
}

} // namespace wr::cuda
