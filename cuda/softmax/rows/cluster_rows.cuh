// Rows of up to 256 tiles: the row in the registers of a cluster's warps, read once and written once. Every warp
// sends its state into the shared memory of all the cluster's blocks, where every warp merges them, or where they are
// many one for all.
#pragma once

#include "cuda/device/barriers.cuh"
#include "cuda/softmax/partial_tile.cuh"
#include "cuda/softmax/rows/cta_rows.cuh"

namespace wr::cuda {

inline constexpr int most_cluster_states = 256;
inline constexpr int most_warps_of_block = 32;

// In clusters of blocks of so many warps at most, rows have no more than 32 states.
inline constexpr int few_state_warps = 8;

// A warp's tile of a row that several blocks share.
struct ClusterPlace {
    std::uint32_t row;
    int block, count; // count is below 1 in warps behind the row's end

    __device__ __forceinline__ explicit ClusterPlace(const SoftmaxArguments &a) {
        row = cluster_number();
        block = static_cast<int>(block_in_cluster() * (blockDim.x / warp_lanes)) + warp_again();
        count = smaller(static_cast<int>(a.axis) - block * static_cast<int>(softmax_block),
                        static_cast<int>(softmax_block));
    }

    template <class T, class Load>
    __device__ __forceinline__ const T *input(const SoftmaxArguments &a) const {
        const std::ptrdiff_t stride = Load::vectors ? 1 : a.axis_stride;
        return static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.outer_stride +
               block * static_cast<int>(softmax_block) * stride;
    }
    __device__ __forceinline__ std::size_t output(const SoftmaxArguments &a) const {
        return row * static_cast<std::size_t>(static_cast<std::uint32_t>(a.axis)) +
               static_cast<std::size_t>(block) * softmax_block;
    }
};

// What a row comes to, as its blocks see it where it is plain: its largest block is ordinary. Elsewhere `n` is no
// frame.
template <class Base>
struct PlainRow {
    Base base; // what the factors of its blocks are made of
    std::int32_t n;

    __device__ __forceinline__ bool plain() const { return is_frame(n); }
};

__device__ __forceinline__ float sum_of(const PlainRow<float> &row) { return row.base; }

// About 1 / its sum.
__device__ __forceinline__ float inverse_of_sum(const PlainRow<float> &row) { return reciprocal_of_sum(row.base); }
__device__ __forceinline__ float inverse_of_sum(const PlainRow<double> &row) { return static_cast<float>(row.base); }

// The row of `count` blocks whose states lie in shared memory, PerLane of them for each lane, which asks for all of its
// own at once.
template <int PerLane, class Float, class Sum>
__device__ __forceinline__ RowView<Sum> merge_row_states(const RowState<Float, Sum> *states, int count) {
    std::int32_t n[PerLane];
    Sum sums[PerLane];
    std::int32_t largest = absent_n;
    const int first = lane_index() * PerLane;
    static_assert(state_place(PerLane - 1) == PerLane - 1); // a lane's are neighbours
    const RowState<Float, Sum> *const own = states + state_place(first);
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
        const bool there = first + i < count;
        n[i] = merging_n(there ? own[i].maximum : -std::numeric_limits<Float>::infinity());
        sums[i] = there ? own[i].sum : Sum(0);
        largest = larger(largest, n[i]);
    }
    const std::int32_t row_n = __reduce_max_sync(whole_warp, largest);
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
        sums[i] = scale_by_power(sums[i], n[i] - row_n);
    }
    return {tree_over_lanes<FloatSum<Sum>>(run_sum<PerLane, Sum>(sums), warp_lanes), row_n};
}

// More states than lanes: behind a call, so that exponentials stay in registers elsewhere.
template <class Float, class Sum>
__device__ __noinline__ RowView<Sum> merge_many_states(const RowState<Float, Sum> *states, int count) {
    return count <= 4 * warp_lanes ? merge_row_states<4>(states, count)
                                   : merge_row_states<most_cluster_states / warp_lanes>(states, count);
}

template <class T, class Load, class Sum>
__device__ __forceinline__ PlainRow<Divisor<T, Load>> row_for_output(RowView<Sum> view) {
    return {base_for_output<T, Load>(view.sum), view.n};
}

// Whether a block's warps take a part of the row's tree, which one of them can put together for all.
__device__ __forceinline__ bool share_a_subtree(int warps) { return (warps & (warps - 1)) == 0; }

// The total of the first `lanes` (a power of two) lanes' states, which all groups of lanes repeat; in every lane.
template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> merge_lanes(RowState<Float, Sum> mine, int lanes) {
    const std::int32_t n = merging_n(mine.maximum), largest = __reduce_max_sync(whole_warp, n);
    if (!is_frame(largest)) { // some block has none, or all of them
        return merge_any_lanes(lane_index() < lanes ? mine : StateMerge<Float, Sum>::identity());
    }
    return {warp_maximum(mine.maximum), tree_over_lanes<FloatSum<Sum>>(scale_by_power(mine.sum, n - largest), lanes)};
}

// The total of a row of `count` states, in every lane: of up to one a lane without a call, where it is ordinary.
template <int StatesALane, class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> total_of_states(const RowState<Float, Sum> *states, int count) {
    if constexpr (StatesALane == 1) {
        return merge_lanes(
            lane_index() < count ? states[state_place(lane_index())] : StateMerge<Float, Sum>::identity(), warp_lanes);
    } else {
        return merge_any_states(states, count);
    }
}

// Whether a row's last block, where it is not whole, is taken vector by vector (H200, bf16 of 32000: 3.97 TB/s, else
// 3.90; of 40000 3.82 and 3.73; but f32 of 65536, of whole blocks alone: 4.04 and 4.15).
template <class T, class Load, bool Log>
inline constexpr bool leads_last_of_cluster =
    sizeof(T) == 2 && zero_exponent_tiles<T, Load, Log> == ZeroExponent::always;

// The exponentials of a warp's tile of such a row, in their frame, and their sum; of a block behind the row's end
// there are none. Leads: the row's last block vector by vector.
template <class T, class Load, ZeroExponent Which, bool Leads, class Logits, class Float>
__device__ __forceinline__ auto shared_row_block_sum(const SoftmaxArguments &a, int count, Logits &x,
                                                     Float (&e)[lane_elements], Float &maximum, std::int32_t &frame) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    const auto data = [&] { return ClusterPlace(a).input<T, Load>(a); };
    const auto note = [&](Float own, std::int32_t, std::int32_t frame_of_e) {
        maximum = own;
        frame = frame_of_e;
    };
    if constexpr (Leads) {
        const int leading = same_in_warp(count);
        if (0 < leading && leading < static_cast<int>(softmax_block)) {
            __shared__ TileState<float, Sum> last; // of the row's blocks
            zero(e);
            const Sum of_last = partial_tile_state<T, Load, Sum>(a, data, leading, x, e, &last, !wants_row_values(a));
            __syncwarp();
            note(last.maximum, last.n, last.n);
            return of_last;
        }
    }
    return tile_sum<T, Load, Float, Sum, Which>(a, data, count, x, e, note);
}

// The outputs of softmax of such a block, from what its row comes to; total(): the same where it is not plain.
// maximum(): the block's.
template <class T, class Load, ZeroExponent Which, class Float, class Sum, class Total, class Maximum>
__device__ __forceinline__ void finish_shared_row(const SoftmaxArguments &a, const ClusterPlace &to, RowView<Sum> view,
                                                  Total total, Maximum maximum, std::int32_t frame,
                                                  Float (&e)[lane_elements]) {
    const PlainRow<Divisor<T, Load>> row = row_for_output<T, Load>(view);
    if constexpr (Which != ZeroExponent::always) {
        frame = state_n(maximum()); // which need not wait in a register
    }
    BlockFactor<Float> factor;
    if (has_factor_in_row<T, Load, Which != ZeroExponent::never>(
            a, frame, row, e[0], factor, [&](std::int32_t gap) { return factor_of(row.base, gap, Float()); })) {
        finish_softmax<T, Load>(a, factor, to.output(a), to.count, e);
    } else {
        finish_special_softmax<T, Load>(a, to.input<T, Load>(a), to.output(a), to.count, maximum(), total());
    }
}

// Tells all blocks of the cluster what this one's warps come to.
template <class State>
__device__ __forceinline__ void send_subtree(const SoftmaxArguments &a, Mbarrier &arrivals, State *states,
                                             const State *of_warps) {
    const int warps = static_cast<int>(blockDim.x / warp_lanes);
    const State of_block = merge_lanes(of_warps[lane_index() & (warps - 1)], warps);
    if (lane_index() < a.cluster_blocks) {
        arrivals.send(static_cast<unsigned>(lane_index()), states + state_place(static_cast<int>(block_in_cluster())),
                      of_block);
    }
}

// a.cluster_blocks blocks of any number of warps form the cluster. StatesALane: every warp tells all blocks its state,
// and makes the total of a row of up to 32 times as many states by itself; 0: one warp of each block tells them what
// the block comes to, where it can.
template <class T, class Load, bool Log, int StatesALane>
__device__ __forceinline__ void softmax_row_of_cluster(const SoftmaxArguments &a) {
#if __CUDA_ARCH__ >= 900
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using State = RowState<Float, Sum>;
    constexpr bool by_blocks = StatesALane == 0, each_waits = !Log || each_takes_logarithm<T>;
    __shared__ State states[state_place(by_blocks ? most_cluster_states : StatesALane * warp_lanes)]; // of the row
    __shared__ Mbarrier arrivals;
    const int warps = static_cast<int>(blockDim.x / warp_lanes);
    const bool together = by_blocks && share_a_subtree(warps);
    const int count = a.cluster_blocks * (together ? 1 : warps);
    if (thread_x_again() == 0) {
        arrivals.initialise();
    }
    __syncwarp(); // the warp may initialise by any lane: racecheck wants to see that they meet before one announces
    if (thread_x_again() == 0) {
        arrivals.announce(static_cast<unsigned>(count) * static_cast<unsigned>(sizeof(State)));
    }
    // Another block's shared memory may be written once that block runs and has set its Mbarrier up, which
    // initialise() makes known to the cluster: waited for below.
    join_cluster();
    pdl_release();
    bring_near(a);
    pdl_wait(); // of this call or another: none of the caller's memory is touched before
    const ClusterPlace from(a);
    TileLogits<T, Load> x(a, from.input<T, Load>(a), from.count);
    Float e[lane_elements];
    Float maximum = 0;
    std::int32_t frame = 0;
    constexpr ZeroExponent which = zero_exponent_tiles<T, Load, Log>;
    const Sum sum =
        shared_row_block_sum<T, Load, which, leads_last_of_cluster<T, Load, Log>>(a, from.count, x, e, maximum, frame);
    if (together) {
        __shared__ State of_warps[most_warps_of_block];
        if (lane_index() == 0) {
            of_warps[warp_again()] = {maximum, sum};
        }
        __syncthreads();
        await_cluster();
        if (warp_again() == 0) {
            send_subtree(a, arrivals, states, of_warps);
        }
    } else {
        await_cluster();
        if (lane_index() < a.cluster_blocks) {
            const ClusterPlace own(a);
            arrivals.send(static_cast<unsigned>(lane_index()), states + state_place(own.block), State{maximum, sum});
        }
    }
    __shared__ LogRow<Float> shared_row;
    if constexpr (each_waits) {
        arrivals.wait();
    } else {
        if (warp_again() == 0) {
            arrivals.wait();
            find_log_row(states, count, &shared_row);
        }
        __syncthreads();
    }
    const ClusterPlace to(a);
    if (sizeof(T) == 2 && to.count <= 0) {
        return; // which is no plain block of 16-bit elements: the states would be merged again
    }
    if constexpr (Log) {
        LogRow<Float> row;
        if constexpr (each_waits && StatesALane == 1) {
            row = log_row_of(total_of_states<1>(states, count));
        } else {
            row = each_waits ? log_row(merge_any_states(states, count)) : shared_row;
        }
        finish_log_row<T, Load>(a, row, to.output(a), to.count, x);
    } else if (a.output != nullptr) {
        RowView<Sum> view;
        if constexpr (by_blocks) {
            view = count <= warp_lanes ? merge_row_states<1>(states, count) : merge_many_states(states, count);
        } else {
            view = merge_row_states<StatesALane>(states, count);
        }
        const auto total = [&] { return merge_any_states(states, count); };
        const auto own = [&] { // among the row's states where it is, so that it waits in no register
            return !by_blocks && which == ZeroExponent::always ? states[state_place(to.block)].maximum : maximum;
        };
        finish_shared_row<T, Load, which>(a, to, view, total, own, frame, e);
    }
    if (wants_row_values(a) && block_in_cluster() == 0 && warp_again() == 0) {
        const RowState<Float, Sum> total = total_of_states<StatesALane>(states, count);
        if (lane_index() == 0) {
            store_row_values(a, total, cluster_number());
        }
    }
#endif
}

// With as many registers as leave room for so many blocks on a multiprocessor, and with so many.
template <class T, class Load, bool Log, int Warps, int BlocksPerMultiprocessor, int StatesALane>
__global__ void __launch_bounds__(Warps *warp_lanes, BlocksPerMultiprocessor)
    softmax_cluster(const __grid_constant__ SoftmaxArguments a) {
    softmax_row_of_cluster<T, Load, Log, StatesALane>(a);
}
template <class T, class Load, bool Log, int StatesALane, int Registers>
__global__ void __maxnreg__(Registers) softmax_cluster_within(const __grid_constant__ SoftmaxArguments a) {
    softmax_row_of_cluster<T, Load, Log, StatesALane>(a);
}

} // namespace wr::cuda
