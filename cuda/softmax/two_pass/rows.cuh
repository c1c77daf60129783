// Rows of any length, by many blocks: the states of their splits, the totals of the rows, and the outputs, in three
// launches; the input is read twice.
#pragma once

#include "cuda/rowwise/published_states.cuh"
#include "cuda/softmax/rows/cta_rows.cuh"

namespace wr::cuda {

inline constexpr int two_pass_row_warps = 8;
inline constexpr int two_pass_row_threads = two_pass_row_warps * warp_lanes;

// Where tile `block` of a row is in the input, and how many elements it has.
template <class T>
struct TileSource {
    const T *data;
    int count;

    __device__ __forceinline__ TileSource(const SoftmaxArguments &a, std::size_t row, std::size_t block) {
        const std::size_t first = block * softmax_block;
        count = static_cast<int>(smaller(a.axis - first, softmax_block));
        data = static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.outer_stride +
               static_cast<std::ptrdiff_t>(first) * a.axis_stride;
    }
};

// Dividing 64 bits takes as long as the exponentials of a few elements.
__device__ __forceinline__ std::size_t quick_quotient(std::size_t a, std::size_t b) {
    return a >> 32 == 0 && b >> 32 == 0 ? static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b) : a / b;
}

// The states of long rows' blocks go through memory, where there is no place for a frame.
template <class T, class Load>
inline constexpr ZeroExponent two_pass_row_tiles =
    may_take_zero_exponent<T, Load, false> ? ZeroExponent::without_row_values : ZeroExponent::never;

// Blocks that a multiprocessor should hold: as many as leave nothing spilled.
template <class T>
inline constexpr int split_state_blocks = 8 / sizeof(T);

// The states of splits of two_pass_row_warps * a.tiles_a_warp tiles.
template <class T, class Load>
__global__ void __launch_bounds__(two_pass_row_threads, split_state_blocks<T>)
    softmax_split_states(const __grid_constant__ SoftmaxArguments a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    pdl_release();
    __shared__ RowState<Float, Sum> states[two_pass_row_warps];
    __shared__ TileState<Float, Sum> block_states[two_pass_row_warps];
    const std::size_t row_tiles = divide_up(a.axis, softmax_block);
    for (std::size_t job = blockIdx.x; job < a.outer * a.splits; job += gridDim.x) {
        const std::size_t row = job / a.splits;
        const std::size_t first = (job % a.splits * two_pass_row_warps + static_cast<std::size_t>(warp_index())) *
                                  static_cast<std::size_t>(a.tiles_a_warp);
        RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
        for (int b = 0; b < a.tiles_a_warp && first + b < row_tiles; ++b) {
            const TileSource<T> source(a, row, first + b);
            const TileLogits<T, Load> x(a, source.data, source.count);
            Float e[lane_elements];
            tile_state<T, Load, Float, Sum, two_pass_row_tiles<T, Load>>(a, source.data, source.count, x, e,
                                                                         &block_states[warp_index()], a.log);
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
            if (lane_index() < two_pass_row_warps) {
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

// Blocks of softmax_apply that a multiprocessor should hold: as many as leave nothing spilled.
template <class T>
inline constexpr int apply_blocks = sizeof(T) == 8 ? 1 : 2;

// The tile that a warp of softmax_apply takes, found out again wherever it is wanted: cheaper than registers that
// hold it through the arithmetic.
struct ApplyPlace {
    std::size_t row, block;
    bool exists;

    __device__ __forceinline__ explicit ApplyPlace(const SoftmaxArguments &a) {
        unsigned of_grid;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(of_grid));
        const std::size_t row_tiles = divide_up(a.axis, softmax_block), jobs = a.outer * row_tiles;
        const std::size_t job =
            of_grid * static_cast<std::size_t>(two_pass_row_warps) + static_cast<std::size_t>(warp_again());
        const std::size_t from_end = jobs - 1 - job;
        exists = job < jobs;
        row = a.outer == 1 ? 0 : quick_quotient(from_end, row_tiles);
        block = from_end - row * row_tiles;
    }
};

// The outputs, once the totals are known. A block's exponentials do not wait for them. The end of the input comes
// first: it was read last, and some of it is in the cache still.
template <class T, class Load>
__global__ void __launch_bounds__(two_pass_row_threads, apply_blocks<T>)
    softmax_apply(const __grid_constant__ SoftmaxArguments a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    constexpr ZeroExponent which = two_pass_row_tiles<T, Load>;
    __shared__ TileState<Float, Sum> block_states[two_pass_row_warps];
    const ApplyPlace from(a);
    pdl_release();
    if (!from.exists) {
        return;
    }
    const TileSource<T> source(a, from.row, from.block);
    const TileLogits<T, Load> x(a, source.data, source.count);
    const auto total_of = [&](std::size_t row) {
        pdl_wait();
        const StoredState stored = a.totals[row];
        return RowState<Float, Sum>{static_cast<Float>(stored.maximum), static_cast<Sum>(stored.sum)};
    };
    if (a.log) {
        const LogRow<Float> row = log_row(total_of(from.row));
        finish_log_softmax<T, Load>(a, row, from.row * a.axis + from.block * softmax_block, source.count, x);
        return;
    }
    Float e[lane_elements];
    tile_state<T, Load, Float, Sum, which>(a, source.data, source.count, x, e, block_states + warp_again());
    __syncwarp();
    const ApplyPlace to(a);
    const TileState<Float, Sum> own = block_states[warp_again()];
    const TileSource<T> again(a, to.row, to.block);
    const std::size_t output = to.row * a.axis + to.block * softmax_block;
    const RowState<Float, Sum> total = total_of(to.row);
    const RowView<Sum> row{total.sum, state_n(total.maximum)};
    BlockFactor<Float> factor;
    if (has_factor_in_row<T, Load, which != ZeroExponent::never>(a, own.n, row, e[0], factor, [&](std::int32_t gap) {
            return factor_for_output<T, Load>(row.sum, gap, Float());
        })) {
        finish_softmax<T, Load>(a, factor, output, again.count, e);
    } else {
        finish_special_softmax<T, Load>(a, again.data, output, again.count, own.maximum, total);
    }
}

// What all warps of a block bring, in every thread: the largest of the maxima, the natural tree over the sums.
template <class Float>
__device__ __forceinline__ Float tile_maximum(Float maximum) {
    __shared__ Float of_warps[two_pass_row_warps];
    of_warps[warp_index()] = maximum;
    __syncthreads();
    return warp_maximum(of_warps[lane_index() % two_pass_row_warps]);
}
template <class Sum>
__device__ __forceinline__ Sum tile_tree(Sum sum) {
    __shared__ Sum of_warps[two_pass_row_warps];
    of_warps[warp_index()] = sum;
    __syncthreads();
    return tree_over_lanes<FloatSum<Sum>>(of_warps[lane_index() % two_pass_row_warps], two_pass_row_warps);
}

// Up to Most states, number `first` and those behind it, all of which are asked for at once. Of one alone, which is
// what most have, nothing else of the code is gone through: it would come from far.
template <int Most, class Float>
struct StateRun {
    StoredState states[Most];
    bool are_several;

    __device__ __forceinline__ StateRun(const StoredState *from, std::size_t first, std::size_t run, std::size_t count)
        : are_several(run > 1) {
        const auto load = [&](std::size_t i) {
            states[i] = {-std::numeric_limits<double>::infinity(), 0.0};
            if (i < run && first + i < count) {
                states[i] = from[first + i];
            }
        };
        load(0);
        if (are_several) {
#pragma unroll
            for (std::size_t i = 1; i < Most; ++i) {
                load(i);
            }
        }
    }

    __device__ __forceinline__ Float largest() const {
        const Float first = static_cast<Float>(states[0].maximum);
        Float maximum = larger_with_nan(first, first);
        if (are_several) {
#pragma unroll
            for (int i = 1; i < Most; ++i) {
                maximum = larger_with_nan(maximum, static_cast<Float>(states[i].maximum));
            }
        }
        return maximum;
    }

    // The natural tree over them, in the frame of the row's maximum.
    template <class Sum>
    __device__ __forceinline__ Sum total(Float row_maximum) const {
        const auto scaled = [&](int i) {
            const Float maximum = static_cast<Float>(states[i].maximum);
            return maximum == -std::numeric_limits<Float>::infinity() // is not there
                       ? Sum(0)
                       : scale_by_power(static_cast<Sum>(states[i].sum), frame_gap(maximum, row_maximum));
        };
        Sum sums[Most] = {scaled(0)};
        if (!are_several) {
            return sums[0];
        }
#pragma unroll
        for (int i = 1; i < Most; ++i) {
            sums[i] = scaled(i);
        }
        return run_sum<Most, Sum>(sums);
    }
};

// The natural tree over any number of them, each asked for when its turn comes.
template <class Float, class Sum>
__device__ __noinline__ Sum long_run_of_states(const StoredState *states, std::size_t first, std::size_t run,
                                               std::size_t count, Float maximum) {
    TreeCounter<FloatSum<Sum>, 40> counter;
    for (std::size_t split = first; split < smaller(first + run, count); ++split) {
        const StoredState state = states[split];
        counter.push(
            scale_by_power(static_cast<Sum>(state.sum), frame_gap(static_cast<Float>(state.maximum), maximum)));
    }
    return counter.result();
}

// The totals of rows from the states of their splits: a row takes a power of two of lanes, or a block where it has more
// than softmax_splits_a_warp. First the row's maximum, then the natural tree over the scaled sums, each thread taking a
// run of 2^k splits.
template <class T>
__global__ void __launch_bounds__(two_pass_row_threads) softmax_totals(const __grid_constant__ SoftmaxArguments a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    pdl_release();
    const bool together = a.splits > softmax_splits_a_warp;
    // Of a row and a warp, and of a row: powers of two, for divisions would take longer than all else.
    const int lanes = together ? warp_lanes : warp_lanes >> (31 - __clz(rows_of_totals_warp(a.splits)));
    const int threads = together ? two_pass_row_threads : lanes, log_threads = 31 - __clz(threads);
    const std::size_t thread = threadIdx.x & static_cast<unsigned>(threads - 1);
    const std::size_t rows_a_block = static_cast<unsigned>(two_pass_row_threads) >> log_threads;
    std::size_t run = 1;
    while (run << log_threads < a.splits) {
        run *= 2;
    }
    const std::size_t rows = a.outer * a.inner;
    pdl_wait();
    if (is_nothing_left(a.left)) {
        return;
    }
    for (std::size_t first = blockIdx.x * rows_a_block; first < rows; first += gridDim.x * rows_a_block) {
        const std::size_t row = first + (threadIdx.x >> log_threads);
        const bool is_taken = row < rows && (a.left.any == nullptr || is_left(a.left, row / a.inner, row % a.inner));
        const std::size_t splits = is_taken ? a.splits : 0;
        const StoredState *states = a.states + row * a.splits;
        constexpr std::size_t most_at_once = 8;
        const StateRun<most_at_once, Float> own(states, thread * run, run <= most_at_once ? run : 0, splits);
        Float maximum = own.largest();
        if (run > most_at_once) {
            for (std::size_t split = thread; split < splits; split += static_cast<unsigned>(threads)) {
                maximum = larger_with_nan(maximum, static_cast<Float>(states[split].maximum));
            }
        }
        if (lanes == warp_lanes) {
            maximum = warp_maximum(maximum);
        } else {
            for (int distance = 1; distance < lanes; distance *= 2) {
                maximum = larger_with_nan(maximum, from_lane_xor(maximum, distance));
            }
        }
        if (together) {
            maximum = tile_maximum(maximum);
        }
        const Sum mine = run <= most_at_once
                             ? own.template total<Sum>(maximum)
                             : long_run_of_states<Float, Sum>(states, thread * run, run, splits, maximum);
        Sum sum = tree_over_lanes<FloatSum<Sum>>(mine, lanes);
        if (together) {
            sum = tile_tree(sum);
        }
        if (thread == 0 && is_taken) {
            a.totals[row] = {static_cast<double>(maximum), static_cast<double>(sum)};
            if (a.logsumexp != nullptr) {
                store_float(logsumexp_of(maximum, sum), a.logsumexp_type, a.logsumexp, row);
            }
        }
        if (together) {
            __syncthreads(); // what the next row writes is what this one reads
        }
    }
}

} // namespace wr::cuda
