// The total of a row from the states of its tiles.
#pragma once

#include "cuda/softmax/tile.cuh"

namespace wr::cuda {

// The total of up to 32 states, lane l's being number l (-infinity and 0 behind the last), in every lane.
template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> merge_one_a_lane(RowState<Float, Sum> mine) {
    const Float maximum = warp_maximum(larger_with_nan(mine.maximum, mine.maximum));
    const Sum scaled = scale_by_power(mine.sum, frame_gap(mine.maximum, maximum));
    return {maximum, tree_over_lanes<FloatSum<Sum>>(scaled, warp_lanes)};
}
template <class Float, class Sum>
__device__ __noinline__ RowState<Float, Sum> merge_any_lanes(RowState<Float, Sum> mine) {
    return merge_one_a_lane(mine);
}

// The total of `count` states of blocks or rows in shared memory, whatever they are, in every lane.
template <template <class, class> class State, class Float, class Sum>
__device__ __noinline__ RowState<Float, Sum> merge_any_states(const State<Float, Sum> *states, int count) {
    if (count <= warp_lanes) {
        RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
        if (lane_index() < count) {
            const State<Float, Sum> &own = states[state_place(lane_index())];
            mine = {own.maximum, own.sum};
        }
        return merge_one_a_lane(mine);
    }
    Float maximum = -std::numeric_limits<Float>::infinity();
#pragma unroll 1
    for (int at = lane_index(); at < count; at += warp_lanes) {
        maximum = larger_with_nan(maximum, states[state_place(at)].maximum);
    }
    maximum = warp_maximum(maximum);
    TreeCounter<FloatSum<Sum>, 6> runs; // of 32 states
#pragma unroll 1
    for (int first = 0; first < count; first += warp_lanes) {
        const int at = first + lane_index();
        const Sum scaled = at < count ? scale_by_power(states[state_place(at)].sum,
                                                       frame_gap(states[state_place(at)].maximum, maximum))
                                      : Sum(0);
        runs.push(tree_over_lanes<FloatSum<Sum>>(scaled, warp_lanes));
    }
    return {maximum, runs.result()};
}

// The total of a row as its blocks see it where it is plain: its largest block is ordinary. Elsewhere `n` is no
// frame.
template <class Sum>
struct RowView {
    Sum sum;
    std::int32_t n;

    __device__ __forceinline__ bool plain() const { return is_frame(n); }
};

// The row of `count` blocks whose states lie in shared memory, PerLane of them for each of Span lanes, which all groups
// of lanes repeat. Both are powers of two whose product is not below `count`.
template <int PerLane, int Span, class Float, class Sum>
__device__ __forceinline__ RowView<Sum> merge_states(const TileState<Float, Sum> *states, int count) {
    std::int32_t n[PerLane];
    Sum sums[PerLane];
    std::int32_t largest = absent_n;
    const int first = (lane_index() & (Span - 1)) * PerLane;
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
        n[i] = absent_n;
        sums[i] = Sum(0);
        if (first + i < count) {
            n[i] = states[state_place(first + i)].n;
            sums[i] = states[state_place(first + i)].sum;
        }
        largest = larger(largest, n[i]);
    }
    const std::int32_t row_n = __reduce_max_sync(whole_warp, largest);
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
        sums[i] = scale_by_power(sums[i], n[i] - row_n);
    }
    Sum sum = run_sum<PerLane, Sum>(sums);
#pragma unroll
    for (int distance = 1; distance < Span; distance *= 2) {
        sum = sum + from_lane_xor(sum, distance);
    }
    return {sum, row_n};
}

} // namespace wr::cuda
