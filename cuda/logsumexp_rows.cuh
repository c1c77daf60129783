// The logsumexp of rows of whole 16-byte vectors. A warp brings a tile of 1024 elements into shared memory while it
// works on the one before, and each lane takes 32 neighbours of a row from there, so that a row of up to 32 elements is
// one lane's and a base block all lanes'.
#pragma once

#include "cuda/kernel_address.cuh"
#include "cuda/logsumexp_rows.h"
#include "cuda/softmax_outputs.cuh"

namespace wr::cuda {

// Vectors of the elements that a lane takes.
template <class T>
inline constexpr int chunk_vectors = lane_elements / vector_elements<T>;

// Where vector g of a tile stands in shared memory: lanes that read their own chunks, and lanes that write neighbouring
// vectors, meet different banks.
__device__ __forceinline__ int staged_place(int g) { return g ^ ((g >> 3) & 7); }

// A warp's tile in shared memory, and of the lane's vectors number 0 and 1 (of the tile: lane and 32 + lane) the
// places; those of further ones lie at fixed distances.
struct Stage {
    uint4 *vectors;
    uint4 *even, *odd;

    __device__ __forceinline__ explicit Stage(uint4 *of_warp)
        : vectors(of_warp), even(of_warp + staged_place(lane_index())),
          odd(of_warp + staged_place(lane_index() + warp_lanes) - warp_lanes) {}

    __device__ __forceinline__ uint4 *place(int v) const { return (v % 2 == 0 ? even : odd) + v * warp_lanes; }
};

__device__ __forceinline__ void copy_vector_async(uint4 *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
}
__device__ __forceinline__ void await_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// The elements of a lane.
template <class T>
struct Chunk {
    float x[lane_elements];

    __device__ __forceinline__ explicit Chunk(const uint4 *stage) {
#pragma unroll
        for (int j = 0; j < chunk_vectors<T>; ++j) {
            const uint4 vector = stage[staged_place(lane_index() * chunk_vectors<T> + j)];
            memcpy(x + j * vector_elements<T>, &vector, sizeof(vector));
        }
    }

    __device__ __forceinline__ float operator[](int i) const { return x[i]; }

    // The lower one says nothing about NaN.
    __device__ __forceinline__ void extremes(float &lowest, float &highest) const {
        lowest = highest = x[0];
#pragma unroll
        for (int i = 1; i < lane_elements; ++i) {
            highest = larger_with_nan(highest, x[i]);
            lowest = fminf(lowest, x[i]);
        }
    }
};
template <class Half>
    requires(sizeof(Half) == 2)
struct Chunk<Half> {
    unsigned pairs[lane_elements / 2];

    __device__ __forceinline__ explicit Chunk(const uint4 *stage) {
#pragma unroll
        for (int j = 0; j < chunk_vectors<Half>; ++j) {
            const uint4 vector = stage[staged_place(lane_index() * chunk_vectors<Half> + j)];
            memcpy(pairs + 4 * j, &vector, sizeof(vector));
        }
    }

    __device__ __forceinline__ static float half_of(unsigned pair, int i) {
        return widen(Half{static_cast<std::uint16_t>(i % 2 == 0 ? pair & 0xFFFFu : pair >> 16)});
    }
    __device__ __forceinline__ float operator[](int i) const { return half_of(pairs[i / 2], i); }

    __device__ __forceinline__ void extremes(float &lowest, float &highest) const {
        unsigned largest = pairs[0], least = pairs[0];
#pragma unroll
        for (int i = 1; i < lane_elements / 2; ++i) {
            largest = larger_pair(largest, pairs[i], Half());
            least = smaller_pair(least, pairs[i], Half());
        }
        highest = larger_with_nan(half_of(largest, 0), half_of(largest, 1));
        lowest = fminf(half_of(least, 0), half_of(least, 1));
    }
};

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

// Where a warp's tile lies in memory. Each warp reads a run of neighbouring tiles: a share of the base blocks of its
// block's one unit, or units of its own. (Warps that take neighbouring tiles in turn are slower: 4.15 instead of 4.32
// TB/s on an H200.)
struct TileWalk {
    std::uint32_t unit;
    int block, blocks; // of the unit, as far as it is the warp's
    const char *data;
    int vectors; // that are there from `data` on, where there are no gaps

    // Whether there is a tile for this warp.
    template <class T>
    __device__ __forceinline__ bool enter(const LogSumExpArguments &a) {
        if (a.by_blocks) {
            unit = blockIdx.x;
            const std::uint32_t row = unit / a.pieces, piece = unit - row * a.pieces;
            const int all = unit_blocks(a, piece), each = divide_up(all, logsumexp_block_warps);
            block = warp_index() * each;
            blocks = smaller(block + each, all);
            vectors = (piece + 1 == a.pieces ? a.last_vectors : a.unit_vectors) - block * block_vectors<T>;
            data = static_cast<const char *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.row_step +
                   (static_cast<std::ptrdiff_t>(piece) * a.unit_blocks + block) * block_bytes<T>;
            return block < blocks;
        }
        unit = (blockIdx.x * static_cast<std::uint32_t>(logsumexp_block_warps) +
                static_cast<std::uint32_t>(warp_index())) *
               a.units_a_warp;
        block = 0;
        blocks = a.unit_blocks;
        vectors = unit + 1 == a.units ? a.last_vectors : a.unit_vectors;
        data = static_cast<const char *>(a.input) + static_cast<std::ptrdiff_t>(unit) * a.row_step;
        return unit < a.units;
    }

    template <class T>
    __device__ __forceinline__ bool advance(const LogSumExpArguments &a, std::uint32_t end) {
        if (++block < blocks) {
            data += block_bytes<T>;
            vectors -= block_vectors<T>;
            return true;
        }
        if (a.by_blocks) {
            return false;
        }
        ++unit;
        block = 0;
        vectors = unit + 1 == a.units ? a.last_vectors : a.unit_vectors;
        data += a.unit_step;
        return unit < end;
    }

    __device__ __forceinline__ static int unit_blocks(const LogSumExpArguments &a, std::uint32_t piece) {
        return piece + 1 == a.pieces ? a.last_blocks : a.unit_blocks;
    }

    template <class T>
    static constexpr int block_bytes = static_cast<int>(softmax_block * sizeof(T));
    template <class T>
    static constexpr int block_vectors = warp_lanes * chunk_vectors<T>;
};

// Fills the stage with what stands behind a row's end.
template <class T>
__device__ __forceinline__ void clear_stage(const Stage &stage) {
#pragma unroll
    for (int v = 0; v < chunk_vectors<T>; ++v) {
        *stage.place(v) = filler_vector<T>(false);
    }
    __syncwarp();
}

// Starts the copies of a tile.
template <class T>
__device__ __forceinline__ void start_tile(const LogSumExpArguments &a, const TileWalk &walk, const Stage &stage) {
    const int lane = lane_index();
    const char *mine = walk.data + lane * vector_bytes;
    if (a.gapped) {
        const int rows = static_cast<int>(smaller<std::size_t>(
            a.rows - walk.unit * static_cast<std::size_t>(warp_lanes / a.row_lanes), warp_lanes / a.row_lanes));
#pragma unroll
        for (int v = 0; v < chunk_vectors<T>; ++v) {
            const int g = v * warp_lanes + lane;
            const int row = g * a.row_reciprocal >> 16;
            if (row < rows) {
                copy_vector_async(stage.vectors + staged_place(g + row * a.lane_gap),
                                  mine + v * warp_lanes * vector_bytes + row * a.row_gap_bytes);
            }
        }
    } else if (walk.vectors >= warp_lanes * chunk_vectors<T>) {
#pragma unroll
        for (int v = 0; v < chunk_vectors<T>; ++v) {
            copy_vector_async(stage.place(v), mine + v * warp_lanes * vector_bytes);
        }
    } else {
#pragma unroll
        for (int v = 0; v < chunk_vectors<T>; ++v) {
            if (v * warp_lanes + lane < walk.vectors) {
                copy_vector_async(stage.place(v), mine + v * warp_lanes * vector_bytes);
            } else {
                *stage.place(v) = filler_vector<T>(false);
            }
        }
    }
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
    int count = walk.vectors * vector_elements<T> - first;
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

template <class T>
__global__ void __launch_bounds__(logsumexp_block_warps *warp_lanes, sizeof(T) == 4 ? 3 : 4)
    logsumexp_rows(const __grid_constant__ LogSumExpArguments a) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    wait_for_previous_kernel();
    allow_dependent_launch();
    __shared__ uint4 stages[logsumexp_block_warps][warp_lanes * chunk_vectors<T>];
    __shared__ BlockState<float, Sum> block_states[state_place(logsumexp_most_unit_blocks)];
    const Stage stage(stages[warp_index()]);
    if (a.gapped) {
        clear_stage<T>(stage);
    }
    TileWalk ahead{};
    bool more = ahead.enter<T>(a);
    const std::uint32_t end = smaller(ahead.unit + a.units_a_warp, a.units);
    if (more) {
        start_tile<T>(a, ahead, stage);
    }
    RowState<float, Sum> mine = StateMerge<float, Sum>::identity();
    RowState<float, Sum> kept = mine; // of a row each, by as many lanes as there are rows
    int kept_units = 0;
    while (more) {
        await_copies();
        __syncwarp();
        const Chunk<T> x(stage.vectors);
        __syncwarp();
        const TileWalk now = ahead;
        more = ahead.advance<T>(a, end);
        if (more) {
            start_tile<T>(a, ahead, stage);
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
const void *logsumexp_rows_kernel() {
    return address_of(logsumexp_rows<T>);
}

} // namespace wr::cuda
