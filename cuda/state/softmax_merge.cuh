// Two neighbours' states of softmax as one, and the logsumexp of a whole one.
#pragma once

#include "cuda/state/judge.cuh"
#include "cuda/state/softmax_tile.cuh"

namespace wr::cuda {

template <class Float, class Sum>
__device__ __forceinline__ Float element_of_either(const SoftmaxMergeArguments<Float, Sum> &a, std::uint64_t o,
                                                   std::uint64_t i, std::uint64_t at) {
    return at < a.left.places.piece.end() ? a.left.element(o, i, at) : a.right.element(o, i, at);
}

// The run at the seam of a row, by a warp.
template <class Float, class Sum>
__device__ __forceinline__ void make_run(const SoftmaxMergeArguments<Float, Sum> &a, std::uint64_t row) {
    const JobPlace of(row, a.places.inner);
    SoftmaxSeam seam = a.seam;
    RowState<Float, Sum> state;
    if (seam.cut_block) {
        const std::uint64_t first = seam.run.begin * softmax_block, middle = a.left.places.piece.end();
        const std::uint64_t split = middle - first, stride = a.places.inner;
        state = state_of_kept<Float, Sum>({a.left.element_at(of.outer, of.inner, first),
                                           a.right.element_at(of.outer, of.inner, middle) - split * stride, split,
                                           softmax_block, stride});
    } else {
        state = a.right.state(0, row);
    }
#pragma unroll 1
    for (auto side = seam.next(); side != SoftmaxSeam::Side::none; side = seam.next()) {
        const bool left = side == SoftmaxSeam::Side::left;
        const RowState<Float, Sum> other =
            left ? a.left.state(seam.left_runs - 1, row) : a.right.state(seam.right_runs, row);
        state = combine(left ? other : state, left ? state : other);
        seam.combine(side);
    }
    if (lane_index() == 0) {
        a.states[a.places.state(a.combined.left_runs, row)] = kept(state);
    }
}

template <class Float, class Sum>
__device__ __forceinline__ void copy_state(const SoftmaxMergeArguments<Float, Sum> &a, std::uint64_t index) {
    const std::uint64_t rows = a.places.rows(), stay = a.combined.left_runs * rows;
    const std::uint64_t made = a.combined.run.blocks() == 0 ? 0 : rows;
    if (index < stay) {
        a.states[index] = a.left.states[index];
    } else if (index >= stay + made) {
        a.states[index] = a.right.states[index - stay - made + a.combined.right_runs * rows];
    }
}

template <class Float, class Sum>
__device__ __forceinline__ void copy_element(const SoftmaxMergeArguments<Float, Sum> &a, std::uint64_t index) {
    using Bits = typename ExponentialConstants<Float>::Bits;
    const EdgeElement of(a.places.piece, a.places.rows(), a.places.inner, index);
    a.elements[index] = bit_cast<Bits>(element_of_either(a, of.outer, of.inner, a.places.piece.first + of.at));
}

// Blocks of threads that a multiprocessor should hold, each of which looks at the states before it does anything.
template <class Float>
inline constexpr int judging_resident_blocks = sizeof(Float) == 4 ? 3 : 1;

template <class Float, class Sum>
__global__ void __launch_bounds__(softmax_state_threads, judging_resident_blocks<Float>)
    softmax_state_merge(const __grid_constant__ SoftmaxMergeArguments<Float, Sum> a) {
    pdl_wait_and_release();
    if (!are_accepted(a.judged)) {
        return;
    }
    if (blockIdx.x < a.seam_blocks) {
        const std::uint64_t rows = a.places.rows(), step = std::uint64_t{a.seam_blocks} * softmax_state_warps;
        for (std::uint64_t row = std::uint64_t{blockIdx.x} * softmax_state_warps + warp_index(); row < rows;
             row += step) {
            make_run(a, row);
        }
        return;
    }
    const std::uint64_t step = std::uint64_t{gridDim.x - a.seam_blocks} * softmax_state_threads;
    const std::uint64_t all = a.states_count + a.elements_count;
    for (std::uint64_t index = std::uint64_t{blockIdx.x - a.seam_blocks} * softmax_state_threads + threadIdx.x;
         index < all; index += step) {
        if (index < a.states_count) {
            copy_state(a, index);
        } else {
            copy_element(a, index - a.states_count);
        }
    }
}

// The states that the first `count` lanes hold, combined from the last one on, in the frame of all of them: scaling by
// powers of two changes no bit.
template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> combine_lanes(const RowState<Float, Sum> &mine, int count) {
    const Float maximum = warp_maximum(larger_with_nan(mine.maximum, mine.maximum));
    const Sum scaled = scale_by_power(mine.sum, frame_gap(mine.maximum, maximum));
    Sum sum = __shfl_sync(whole_warp, scaled, count - 1);
#pragma unroll 1
    for (int lane = count - 1; lane-- > 0;) {
        sum = __shfl_sync(whole_warp, scaled, lane) + sum;
    }
    return {maximum, sum};
}

// The state of a whole row that ends within a base block, by a warp; in every lane.
template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> finished_row(const SoftmaxStateView<Float, Sum> &state,
                                                             std::uint64_t runs, std::uint64_t row) {
    const SoftmaxPiece &piece = state.places.piece;
    const std::uint64_t tail = piece.right();
    const bool has_lanes = runs < warp_lanes;
    const JobPlace of(row, state.places.inner);
    RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
    if (has_lanes && static_cast<std::uint64_t>(lane_index()) < runs) {
        mine = state.state(static_cast<std::uint64_t>(lane_index()), row);
    }
    const RowState<Float, Sum> last =
        state_of_kept<Float, Sum>(kept_logits(state, of.outer, of.inner, piece.end() - tail, tail));
    if (!has_lanes) {
        return whole_state(state, runs, true, last, row);
    }
    mine = static_cast<std::uint64_t>(lane_index()) == runs ? last : mine;
    return combine_lanes(mine, static_cast<int>(runs) + 1);
}

// Calls use(row, total) for each row of whole base blocks, a thread each.
template <class Float, class Sum, class Use>
__device__ __forceinline__ void for_each_whole_row(const SoftmaxStateView<Float, Sum> &state, std::uint64_t runs,
                                                   std::uint64_t rows, Use use) {
    const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
    for (std::uint64_t row = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; row < rows; row += step) {
        use(row, whole_state(state, runs, false, StateMerge<Float, Sum>::identity(), row));
    }
}

template <class Float, class Sum>
__global__ void __launch_bounds__(softmax_state_threads, judging_resident_blocks<Float>)
    softmax_state_finish(const __grid_constant__ SoftmaxFinishArguments<Float, Sum> a) {
    pdl_wait_and_release();
    if (!are_accepted(a.judged)) {
        return;
    }
    const auto store = [&](std::uint64_t row, const RowState<Float, Sum> &whole) {
        store_float(logsumexp_of(whole.maximum, whole.sum), a.output_type, a.output, row);
    };
    if (a.state.places.piece.right() == 0) {
        for_each_whole_row(a.state, a.runs, a.rows, store);
        return;
    }
    const std::uint64_t step = std::uint64_t{gridDim.x} * softmax_state_warps;
    for (std::uint64_t row = std::uint64_t{blockIdx.x} * softmax_state_warps + warp_index(); row < a.rows;
         row += step) {
        const RowState<Float, Sum> whole = finished_row(a.state, a.runs, row);
        if (lane_index() == 0) {
            store(row, whole);
        }
    }
}

} // namespace wr::cuda
