// The logsumexp of rows, whose tiles come by one of the ways of logsumexp_tiles.cuh and logsumexp_shifted_tiles.cuh.
#pragma once

#include "cuda/kernel_address.cuh"
#include "cuda/logsumexp_shifted_tiles.cuh"
#include "cuda/logsumexp_tiles.cuh"

namespace wr::cuda {

// The natural tree over a lane's exponentials.
template <class Sum, class Exponential>
__device__ __forceinline__ Sum chunk_sum(Exponential exponential) {
    constexpr int run = 8;
    Sum sums[lane_elements / run];
#pragma unroll
    for (int r = 0; r < lane_elements / run; ++r) {
        float e[run];
#pragma unroll
        for (int i = 0; i < run; ++i) {
            e[i] = exponential(r * run + i);
        }
        sums[r] = run_sum<run, Sum>(e);
    }
    return run_sum<lane_elements / run, Sum>(sums);
}

template <class Sum>
__device__ __forceinline__ Sum sum_over_lanes(Sum sum, int lanes) {
#pragma unroll
    for (int distance = 1; distance < warp_lanes; distance *= 2) {
        if (distance < lanes) {
            sum = sum + from_lane_xor(sum, distance);
        }
    }
    return sum;
}

// The sum of a tile's rows where one has an unusual maximum: each lane's elements from memory again, `count` of them.
template <class T>
__device__ __noinline__ typename SoftmaxArithmetic<T>::Sum unusual_tile_sum(const T *mine, int count, float maximum,
                                                                            int row_lanes) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    const Frame<float> frame = frame_of(maximum);
    TreeCounter<FloatSum<Sum>, 6> counter;
#pragma unroll 1
    for (int i = 0; i < lane_elements; ++i) {
        counter.push(i < count ? static_cast<Sum>(exponential_in(frame, static_cast<float>(widen(mine[i])))) : Sum(0));
    }
    return settle_block_sum(maximum, sum_over_lanes(counter.result(), row_lanes));
}

// Where a lane's elements of the tile lie in memory, and how many there are.
template <class T>
__device__ __forceinline__ typename SoftmaxArithmetic<T>::Sum unusual_sum(const LogSumExpArguments &a,
                                                                          const TileWalk &walk, float maximum) {
    const int row = lane_index() / a.row_lanes, first = lane_index() % a.row_lanes * lane_elements;
    const std::size_t number = walk.unit * static_cast<std::size_t>(warp_lanes / a.row_lanes);
    int count = walk.elements - first;
    if (a.row_lanes < warp_lanes) {
        count = number + static_cast<std::size_t>(row) < a.rows ? static_cast<int>(a.axis) - first : 0;
    }
    const T *data = reinterpret_cast<const T *>(walk.data) + row * a.outer_stride + first;
    return unusual_tile_sum(data, count, maximum, a.row_lanes);
}

// The state of the row that each lane's elements belong to, as far as the tile holds it.
template <class T>
__device__ __forceinline__ RowState<float, typename SoftmaxArithmetic<T>::Sum>
tile_state(const LogSumExpArguments &a, const TileWalk &walk, const Chunk<T> &x) {
    using C = ExponentialConstants<float>;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    float lowest, maximum;
    x.extremes(lowest, maximum);
    if (a.row_lanes == warp_lanes) {
        maximum = warp_maximum(maximum);
    } else {
#pragma unroll
        for (int distance = 1; distance < warp_lanes / 2; distance *= 2) {
            if (distance < a.row_lanes) {
                maximum = larger_with_nan(maximum, from_lane_xor(maximum, distance));
            }
        }
    }
    const bool absent = maximum == -std::numeric_limits<float>::infinity();
    if (__any_sync(whole_warp, !is_ordinary(maximum) && !absent) != 0) {
        return {maximum, unusual_sum<T>(a, walk, maximum)};
    }
    const float bound = absent ? std::numeric_limits<float>::infinity() : maximum - C::reach;
    const float magic_less_n = C::magic - static_cast<float>(nearest_exponent(maximum));
    Sum sum;
    if (__all_sync(whole_warp, lowest > bound) != 0) { // no element needs a test
        sum = chunk_sum<Sum>([&](int i) { return scaled_exponential(x[i], magic_less_n); });
    } else {
        sum = chunk_sum<Sum>([&](int i) {
            const float value = x[i];
            const float e = scaled_exponential(value, magic_less_n);
            return value > bound ? e : 0.0f;
        });
    }
    return {maximum, sum_over_lanes(sum, a.row_lanes)};
}

template <class Sum>
__device__ __noinline__ void write_state(const LogSumExpArguments &a, RowState<float, Sum> state, std::size_t place) {
    if (a.states != nullptr) {
        a.states[place] = {static_cast<double>(state.maximum), static_cast<double>(state.sum)};
    } else {
        store_float(logsumexp_of(state.maximum, state.sum), a.output_type, a.output, place);
    }
}

// The states that lanes have kept, of `units` tiles or rows from `first_unit` on: their logarithms are taken together.
template <class Sum>
__device__ __forceinline__ void write_kept(const LogSumExpArguments &a, const RowState<float, Sum> &state,
                                           std::uint32_t first_unit, int units) {
    const int slot = lane_index() & (a.row_lanes - 1);
    const std::size_t place =
        (first_unit + static_cast<std::size_t>(slot)) * static_cast<std::size_t>(warp_lanes / a.row_lanes) +
        static_cast<std::size_t>(lane_index() / a.row_lanes);
    if (slot < units && place < a.rows) {
        write_state(a, state, place);
    }
}

template <class Tiles>
__global__ void __launch_bounds__(logsumexp_block_warps *warp_lanes, Tiles::resident_blocks)
    logsumexp_rows(const __grid_constant__ LogSumExpArguments a) {
    using T = typename Tiles::T;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    wait_for_previous_kernel();
    allow_dependent_launch();
    __shared__ uint4 stages[logsumexp_block_warps][Tiles::stage_vectors];
    __shared__ BlockState<float, Sum> block_states[state_place(logsumexp_most_unit_blocks)];
    const Stage stage(stages[warp_index()]);
    if (a.gapped) {
        clear_stage<T>(stage.vectors, Tiles::stage_vectors);
    }
    TileWalk ahead{};
    bool more = ahead.enter<T>(a);
    const std::uint32_t end = smaller(ahead.unit + a.units_a_warp, a.units);
    if (more) {
        Tiles::start(a, ahead, stage);
    }
    RowState<float, Sum> mine = StateMerge<float, Sum>::identity();
    RowState<float, Sum> kept = mine; // of a row each, by as many lanes as there are rows
    int kept_units = 0;
    while (more) {
        await_copies();
        __syncwarp();
        Tiles::finish(a, ahead, stage);
        const Chunk<T> x = Tiles::chunk(a, ahead, stage);
        __syncwarp();
        const TileWalk now = ahead;
        more = ahead.advance<T>(a, end);
        if (more) {
            Tiles::start(a, ahead, stage);
        }
        RowState<float, Sum> state = tile_state<T>(a, now, x);
        if (a.by_blocks) {
            if (lane_index() == 0) {
                block_states[state_place(now.block)] = {state.maximum, 0, state.sum};
            }
            continue;
        }
        if (now.blocks > 1) {
            if (lane_index() == now.block) {
                mine = state;
            }
            if (now.block + 1 < now.blocks) {
                continue;
            }
            state = merge_any_lanes(mine);
            mine = StateMerge<float, Sum>::identity();
        }
        if ((lane_index() & (a.row_lanes - 1)) == kept_units) {
            kept = state;
        }
        ++kept_units;
        if (kept_units == a.row_lanes || !more) {
            write_kept(a, kept, now.unit + 1 - static_cast<std::uint32_t>(kept_units), kept_units);
            kept_units = 0;
        }
    }
    if (a.by_blocks) {
        __syncthreads();
        if (warp_index() == 0) {
            const int blocks = TileWalk::unit_blocks(a, blockIdx.x % a.pieces);
            const RowState<float, Sum> total = merge_any_states(block_states, blocks);
            if (lane_index() == 0) {
                write_state(a, total, blockIdx.x);
            }
        }
    }
}

template <class T>
const void *logsumexp_aligned_rows_kernel() {
    return address_of(logsumexp_rows<AlignedTiles<T>>);
}

template <class T>
const void *logsumexp_shifted_rows_kernel() {
    return address_of(logsumexp_rows<ShiftedTiles<T>>);
}

} // namespace wr::cuda
