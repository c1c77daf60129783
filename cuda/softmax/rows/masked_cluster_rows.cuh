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

// A warp's tile, of which something takes part; whether it is ordinary, and written.
template <class Rows, bool Log, class Data, class Logits>
__device__ __forceinline__ bool
do_tile_of_cluster(const MaskedRowsArguments &a, const Data &data, const MaskedTile &mine, Logits &x,
                   Mbarrier &arrivals, TileState<float, typename Rows::Sum> *states,
                   TileState<float, typename Rows::Sum> *own, LogRow<float> *log_row_of_block) {
    using Sum = typename Rows::Sum;
    float e[lane_elements];
    masked_row_state<Rows, Log>(a, data, mine, x, e, own);
    __syncwarp();
    await_cluster();
    if (lane_index() * static_cast<int>(blockDim.x / warp_lanes) < mine.blocks) {
        arrivals.send(static_cast<unsigned>(lane_index()), states + state_place(mine.block), *own);
    }
    if constexpr (Log && converts<Rows>) {
        arrivals.wait();
        return finish_masked_log<Rows>(a, mine, log_row(merge_any_states(states, mine.blocks)), x);
    } else if constexpr (Log) { // by one warp of each block
        if (thread_x_again() < static_cast<int>(warp_lanes)) {
            arrivals.wait();
            find_log_row(states, mine.blocks, log_row_of_block);
        }
        wait_at_row_barrier(0, warps_present(mine.blocks));
        return finish_masked_log<Rows>(a, mine, *log_row_of_block, x);
    } else {
        arrivals.wait();
        const RowView<Sum> row = mine.blocks <= warp_lanes ? merge_states<1, warp_lanes>(states, mine.blocks)
                                 : mine.blocks <= 4 * warp_lanes
                                     ? merge_read_twice<4>(states, mine.blocks)
                                     : merge_read_twice<masked_cluster_states / warp_lanes>(states, mine.blocks);
        return finish_masked<Rows>(a, mine, own->n, row, e);
    }
}

template <class Rows>
__device__ __forceinline__ void softmax_masked_row_of_cluster(const MaskedRowsArguments &a) {
#if __CUDA_ARCH__ >= 900
    using T = typename Rows::Element;
    using State = TileState<float, typename Rows::Sum>;
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
    const bool finished =
        a.log ? do_tile_of_cluster<Rows, true>(a, data, mine, x, arrivals, states, own + warp, &log_row_of_block)
              : do_tile_of_cluster<Rows, false>(a, data, mine, x, arrivals, states, own + warp, &log_row_of_block);
    if (!finished) {
        finish_special_masked<Rows, true>(a, mine, states);
    }
    if (wants_row_values(a) && mine.block == 0) {
        store_row_values(a, merge_any_states(states, mine.blocks), mine.row);
    }
#endif
}

} // namespace wr::cuda
