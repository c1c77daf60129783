// Rows of vectors in the registers of all multiprocessors together, a tile a warp: read once and written once, in
// one launch. What a block of threads comes to goes through memory, between two halves of the kernel that all blocks
// finish and begin together.
#pragma once

#include "cuda/common/kernel_address.cuh"
#include "cuda/softmax/kernels.h"
#include "cuda/softmax/rows/cluster_rows.cuh"
#include "cuda/softmax/two_pass/rows.cuh"

#include <cooperative_groups.h>

namespace wr::cuda {

struct CooperativePlace : SharedRowPlace {
    __device__ __forceinline__ explicit CooperativePlace(const SoftmaxArguments &a)
        : SharedRowPlace(a, blockIdx.y, blockIdx.x) {}
};

// What `count` states in memory come to, in every lane.
template <class Float, class Sum>
__device__ __noinline__ RowState<Float, Sum> merge_stored_states(const StoredState *states, std::size_t count) {
    constexpr int most_a_lane = softmax_cooperative_row_states / warp_lanes;
    std::size_t run = 1;
    while (run * warp_lanes < count) {
        run *= 2;
    }
    const StateRun<most_a_lane, Float> own(states, static_cast<std::size_t>(lane_index()) * run, run, count);
    const Float maximum = warp_maximum(own.largest());
    return {maximum, tree_over_lanes<FloatSum<Sum>>(own.template total<Sum>(maximum), warp_lanes)};
}

// A row of the grid's blocks is one of the softmax's, each block of a power of two of warps; all of them run at the
// same time.
template <class T, bool Log>
__global__ void __launch_bounds__(most_warps_of_block *warp_lanes, 1)
    softmax_grid(const __grid_constant__ SoftmaxArguments a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using Load = VectorLoad<T>;
    using State = RowState<Float, Sum>;
    __shared__ State of_warps[most_warps_of_block];
    __shared__ std::conditional_t<Log, LogRow<Float>, State> shared_row;
    take_place_on_stream();
    const CooperativePlace from(a);
    TileLogits<T, Load> x(a, from.input<T, Load>(a), from.count);
    Float e[lane_elements];
    Float maximum = 0;
    std::int32_t frame = 0;
    // 16-bit rows gain nothing by the frame N = 0 here (1 x 1M bf16 on an H200 5.50 us from a graph, with it 5.46;
    // f32 6.79 and 6.43).
    constexpr ZeroExponent which = sizeof(T) == 2 ? ZeroExponent::never : zero_exponent_tiles<T, Load, Log>;
    const Sum sum = shared_row_block_sum<T, Load, which, false, CooperativePlace>(a, from.count, x, e, maximum, frame);
    if (lane_index() == 0) {
        of_warps[warp_again()] = {maximum, sum};
    }
    __syncthreads();
    StoredState *const states = a.states + blockIdx.y * gridDim.x;
    if (warp_again() == 0) {
        const State own = merge_subtree(of_warps, static_cast<int>(blockDim.x / warp_lanes));
        if (lane_index() == 0) {
            states[blockIdx.x] = {static_cast<double>(own.maximum), static_cast<double>(own.sum)};
        }
    }
    cooperative_groups::this_grid().sync();
    if (warp_again() == 0) {
        const State total = merge_stored_states<Float, Sum>(states, gridDim.x);
        if constexpr (Log) {
            const LogRow<Float> row = log_row(total);
            if (lane_index() == 0) {
                shared_row = row;
            }
        } else if (lane_index() == 0) {
            shared_row = total;
        }
        if (wants_row_values(a) && blockIdx.x == 0 && lane_index() == 0) {
            store_row_values(a, total, blockIdx.y);
        }
    }
    __syncthreads();
    const CooperativePlace to(a);
    if (to.count <= 0) {
        return;
    }
    if constexpr (Log) {
        finish_log_softmax<T, Load>(a, shared_row, to.output(a), to.count, x);
    } else {
        const RowView<Sum> view{shared_row.sum, state_n(shared_row.maximum)};
        const auto total = [&] { return shared_row; };
        finish_shared_row<T, Load, which>(a, to, view, total, [&] { return maximum; }, frame, e);
    }
}

template <class T>
void softmax_cooperative_rows(SoftmaxRowKernels &kernels) {
    kernels.cooperative_rows[0] = address_of(softmax_grid<T, false>);
    kernels.cooperative_rows[1] = address_of(softmax_grid<T, true>);
}

} // namespace wr::cuda
