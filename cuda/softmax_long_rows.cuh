// Rows of any length, by many blocks: the states of their pieces, the totals of the rows, and the outputs, in three
// launches; the input is read twice.
#pragma once

#include "cuda/softmax_warp.cuh"

namespace wr::cuda {

inline constexpr int long_row_warps = 8;
inline constexpr int long_row_threads = long_row_warps * warp_lanes;

// Where base block `block` of a row is in the input, and how many elements it has.
template <class T>
struct BlockSource {
    const T *data;
    int count;

    __device__ __forceinline__ BlockSource(const SoftmaxArguments &a, std::size_t row, std::size_t block) {
        const std::size_t first = block * softmax_block;
        count = static_cast<int>(smaller(a.axis - first, softmax_block));
        data = static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.outer_stride +
               static_cast<std::ptrdiff_t>(first) * a.axis_stride;
    }
};

// The states of pieces of long_row_warps * a.blocks_a_warp base blocks.
template <class T, class Places>
__global__ void __launch_bounds__(long_row_threads) softmax_piece_states(const __grid_constant__ SoftmaxArguments a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    allow_dependent_launch();
    __shared__ RowState<Float, Sum> states[long_row_warps];
    __shared__ BlockState<Float, Sum> block_states[long_row_warps];
    const std::size_t row_blocks = divide_up(a.axis, softmax_block);
    for (std::size_t job = blockIdx.x; job < a.outer * a.pieces; job += gridDim.x) {
        const std::size_t row = job / a.pieces;
        const std::size_t first = (job % a.pieces * long_row_warps + static_cast<std::size_t>(warp_index())) *
                                  static_cast<std::size_t>(a.blocks_a_warp);
        RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
        for (int b = 0; b < a.blocks_a_warp && first + b < row_blocks; ++b) {
            const BlockSource<T> source(a, row, first + b);
            const BlockLogits<T, Places> x(a, source.data, source.count);
            Float e[lane_elements];
            block_state<T, Places, Float, Sum>(a, source.data, source.count, x, e, &block_states[warp_index()]);
            __syncwarp();
            if (lane_index() == b) {
                mine = {block_states[warp_index()].maximum, block_states[warp_index()].sum};
            }
            __syncwarp();
        }
        mine = merge_any_lanes(mine);
        if (lane_index() == 0) {
            states[warp_index()] = mine;
        }
        __syncthreads();
        if (warp_index() == 0) {
            mine = StateMerge<Float, Sum>::identity();
            if (lane_index() < long_row_warps) {
                mine = states[lane_index()];
            }
            mine = merge_any_lanes(mine);
            if (lane_index() == 0) {
                a.states[job] = {static_cast<double>(mine.maximum), static_cast<double>(mine.sum)};
            }
        }
        __syncthreads();
    }
}

// The outputs, once the totals are known. A block's exponentials do not wait for them.
template <class T, class Places, bool Log>
__global__ void __launch_bounds__(long_row_threads) softmax_apply(const __grid_constant__ SoftmaxArguments a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    __shared__ BlockState<Float, Sum> block_states[long_row_warps];
    const std::size_t row_blocks = divide_up(a.axis, softmax_block);
    const std::size_t warps = static_cast<std::size_t>(gridDim.x) * long_row_warps;
    bool waited = false;
    for (std::size_t job =
             blockIdx.x * static_cast<std::size_t>(long_row_warps) + static_cast<std::size_t>(warp_index());
         job < a.outer * row_blocks; job += warps) {
        const std::size_t row = job / row_blocks;
        const std::size_t block = job % row_blocks;
        const BlockSource<T> source(a, row, block);
        const BlockLogits<T, Places> x(a, source.data, source.count);
        Float e[lane_elements];
        block_state<T, Places, Float, Sum>(a, source.data, source.count, x, e, &block_states[warp_index()]);
        __syncwarp();
        const BlockState<Float, Sum> own = block_states[warp_index()];
        __syncwarp();
        if (!waited) {
            wait_for_previous_kernel();
            waited = true;
        }
        const StoredState stored = a.totals[row];
        const RowState<Float, Sum> total{static_cast<Float>(stored.maximum), static_cast<Sum>(stored.sum)};
        const std::size_t output = row * a.axis + block * softmax_block;
        if constexpr (Log) {
            finish_log_softmax<T, Places>(a, log_row(total), output, source.count, x);
        } else {
            const std::int32_t gap = own.n - state_n(total.maximum);
            if (own.n != unusual_n && is_ordinary(total.maximum) && has_plain_factor<T, Places>(a, gap)) {
                finish_softmax<T, Places>(a, plain_factor(total.sum, gap, Float()), output, source.count, e);
            } else {
                finish_unusual_softmax<T, Places>(a, source.data, output, source.count, own.maximum, total);
            }
        }
    }
}

// The totals of rows from the states of their pieces, a warp to a row: first the row's maximum, then the natural tree
// over the scaled sums, each lane taking a run of 2^k pieces.
template <class T>
__global__ void __launch_bounds__(long_row_threads) softmax_totals(const __grid_constant__ SoftmaxArguments a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    allow_dependent_launch();
    wait_for_previous_kernel();
    std::size_t run = 1;
    while (run * warp_lanes < a.pieces) {
        run *= 2;
    }
    const std::size_t rows = a.outer * a.inner;
    const std::size_t warps = static_cast<std::size_t>(gridDim.x) * long_row_warps;
    for (std::size_t row =
             blockIdx.x * static_cast<std::size_t>(long_row_warps) + static_cast<std::size_t>(warp_index());
         row < rows; row += warps) {
        const StoredState *states = a.states + row * a.pieces;
        Float maximum = -std::numeric_limits<Float>::infinity();
        for (std::size_t piece = static_cast<std::size_t>(lane_index()); piece < a.pieces; piece += warp_lanes) {
            maximum = larger_with_nan(maximum, static_cast<Float>(states[piece].maximum));
        }
        maximum = warp_maximum(maximum);
        TreeCounter<FloatSum<Sum>, 40> counter;
        const std::size_t first = static_cast<std::size_t>(lane_index()) * run;
        for (std::size_t piece = first; piece < smaller(first + run, a.pieces); ++piece) {
            const StoredState state = states[piece];
            counter.push(
                scale_by_power(static_cast<Sum>(state.sum), frame_gap(static_cast<Float>(state.maximum), maximum)));
        }
        const Sum sum = tree_over_lanes<FloatSum<Sum>>(counter.result(), warp_lanes);
        if (lane_index() == 0) {
            a.totals[row] = {static_cast<double>(maximum), static_cast<double>(sum)};
            if (a.logsumexp != nullptr) {
                store_logsumexp(maximum, sum, a.logsumexp, row);
            }
        }
    }
}

} // namespace wr::cuda
