// Two neighbours' states of softmax as one, and the logsumexp of a whole one.
#pragma once

#include "cuda/state/judge.cuh"
#include "cuda/state/softmax_state.cuh"

namespace wr::cuda {

template <class Float, class Sum>
__device__ __forceinline__ Float element_of_either(const SoftmaxMergeArguments<Float, Sum> &a, std::uint64_t o,
                                                   std::uint64_t i, std::uint64_t at) {
    return at < a.left.places.piece.end() ? a.left.element(o, i, at) : a.right.element(o, i, at);
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

// The run at the seam of a row, by a warp; in every lane. What it is combined with is on its way with its own elements.
template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> run_at_seam(const SoftmaxMergeArguments<Float, Sum> &a,
                                                            std::uint64_t row) {
    const JobPlace of(row, a.places.inner);
    const SoftmaxSeam &seam = a.seam;
    const auto other = [&](int step) {
        const auto rights = static_cast<std::uint64_t>(__popcll(a.right_sides & ((std::uint64_t{1} << step) - 1)));
        return (a.right_sides >> step & 1u) != 0
                   ? a.right.state(seam.right_runs + rights, row)
                   : a.left.state(seam.left_runs - 1 - (static_cast<std::uint64_t>(step) - rights), row);
    };
    const bool has_lanes = a.steps < warp_lanes;
    RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity(), state;
    if (has_lanes && lane_index() < a.steps) {
        mine = other(a.steps - 1 - lane_index());
    }
    if (seam.cut_block) {
        const std::uint64_t first = seam.run.begin * softmax_block, middle = a.left.places.piece.end();
        const std::uint64_t split = middle - first, stride = a.places.inner;
        state = state_of_kept<Float, Sum>({a.left.element_at(of.outer, of.inner, first),
                                           a.right.element_at(of.outer, of.inner, middle) - split * stride, split,
                                           softmax_block, stride});
    } else {
        state = a.right.state(0, row);
    }
    if (has_lanes) {
        return combine_lanes(lane_index() == a.steps ? state : mine, a.steps + 1);
    }
#pragma unroll 1
    for (int step = 0; step < a.steps; ++step) {
        state = combine(other(step), state);
    }
    return state;
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

// work(row) for each row, a warp each but for the judge, and use(row, what it comes to) by its first lane, if the
// verdict allows: the first rows do not wait for it.
template <class Work, class Use>
__device__ __forceinline__ void for_each_row_of_warps(unsigned blocks, std::uint64_t rows, const Status &verdict,
                                                      Work work, Use use) {
    const std::uint64_t warps = blockDim.x / warp_lanes - 1, step = blocks * warps;
    std::uint64_t row = is_judge() ? rows : blockIdx.x * warps + static_cast<std::uint64_t>(warp_index());
    decltype(work(row)) made;
    if (row < rows) {
        made = work(row);
    }
    __syncthreads();
    if (verdict != Status::success) {
        return;
    }
    while (row < rows) {
        if (lane_index() == 0) {
            use(row, made);
        }
        row += step;
        if (row < rows) {
            made = work(row);
        }
    }
}

// Blocks of threads that a multiprocessor should hold, each of which looks at the states before it does anything.
template <class Float>
inline constexpr int judging_resident_blocks = sizeof(Float) == 4 ? 3 : 1;

template <class Float, class Sum>
__global__ void __launch_bounds__(softmax_state_threads, judging_resident_blocks<Float>)
    softmax_state_merge(const __grid_constant__ SoftmaxMergeArguments<Float, Sum> a) {
    __shared__ Status verdict;
    pdl_wait_and_release();
    if (is_judge()) {
        judge_states(a.judged, verdict);
    }
    if (blockIdx.x < a.seam_blocks) {
        for_each_row_of_warps(
            a.seam_blocks, a.places.rows(), verdict, [&](std::uint64_t row) { return run_at_seam(a, row); },
            [&](std::uint64_t row, const RowState<Float, Sum> &state) {
                a.states[a.places.state(a.combined.left_runs, row)] = kept(state);
            });
        return;
    }
    __syncthreads();
    if (verdict != Status::success) {
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
    __shared__ Status verdict;
    pdl_wait_and_release();
    if (is_judge()) {
        judge_states(a.judged, verdict);
    }
    const auto store = [&](std::uint64_t row, const RowState<Float, Sum> &whole) {
        store_float(logsumexp_of(whole.maximum, whole.sum), a.output_type, a.output, row);
    };
    if (a.state.places.piece.right() != 0) {
        for_each_row_of_warps(
            gridDim.x, a.rows, verdict, [&](std::uint64_t row) { return finished_row(a.state, a.runs, row); }, store);
        return;
    }
    __syncthreads();
    if (verdict == Status::success) {
        for_each_whole_row(a.state, a.runs, a.rows, store);
    }
}

} // namespace wr::cuda
