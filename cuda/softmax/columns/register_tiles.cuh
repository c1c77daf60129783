// Softmax along an axis that is not the innermost, read once and written once: a block, or a cluster, holds a few
// neighbouring columns in its registers, each thread 32 consecutive elements of one.
#pragma once

#include "cuda/softmax/rows/cluster_rows.cuh"

namespace wr::cuda {

inline constexpr int column_run = 32;                                              // elements of a thread
inline constexpr int runs_of_block = static_cast<int>(softmax_block) / column_run; // threads of a tile

// What a thread of a column tile works on.
template <int Columns>
struct ColumnPlace {
    int run, column; // within the tile
    std::uint64_t outer, inner;
    int first, count; // elements of the axis; count is below 1 where there are none
    bool present;

    __device__ __forceinline__ ColumnPlace(const SoftmaxArguments &a, int runs) {
        const unsigned x = static_cast<unsigned>(thread_x_again());
        run = static_cast<int>(x / Columns);
        column = static_cast<int>(x % Columns);
        const std::uint32_t cluster = static_cast<std::uint32_t>(a.cluster_blocks);
        const std::uint32_t tile = blockIdx.x / cluster, rank = blockIdx.x % cluster;
        const std::uint32_t tiles = static_cast<std::uint32_t>((a.inner + Columns - 1) / Columns);
        outer = tile / tiles;
        inner = static_cast<std::uint64_t>(tile % tiles) * Columns + static_cast<std::uint64_t>(column);
        present = inner < a.inner;
        first = (static_cast<int>(rank) * runs + run) * column_run;
        count = present ? smaller(static_cast<int>(a.axis) - first, column_run) : 0;
    }
};

// A tile's sum is the tree over the sums of its threads; lane l of a warp takes thread l of a column.
template <class Float, class Sum, int Runs, int Columns>
struct ColumnTile {
    static constexpr int blocks = Runs / runs_of_block;
    TileState<Float, Sum> states[Columns][state_place(warp_lanes)]; // of the columns' tiles, in all the cluster
    TileState<Float, Sum> own[blocks][Columns];
    TileState<Float, Sum> totals[Columns];
    LogRow<Float> logs[Columns];
    Float maxima[Runs][Columns + 1];
    Sum sums[Runs][Columns + 1];
};

template <class T, class Float>
__device__ __forceinline__ void load_column(const SoftmaxArguments &a, const T *data, int count,
                                            Float (&x)[column_run]) {
#pragma unroll
    for (int i = 0; i < column_run; ++i) {
        x[i] = -std::numeric_limits<Float>::infinity();
        if (i < count) {
            x[i] = static_cast<Float>(widen(data[i * a.axis_stride]));
        }
    }
    if (a.scaled) {
        const Float scale = static_cast<Float>(a.scale);
#pragma unroll
        for (int i = 0; i < column_run; ++i) {
            x[i] = i < count ? x[i] * scale : x[i];
        }
    }
}

template <class Float, class Sum>
__device__ __noinline__ Sum settle_any_sum(Float maximum, Sum sum) {
    return settle_block_sum(maximum, sum);
}

template <class Float, class Sum>
__device__ __noinline__ BlockFactor<Float> any_factor(Float maximum, RowState<Float, Sum> total) {
    return block_factor(maximum, total.maximum, total.sum);
}

template <class T, int Threads, int Columns, int BlocksPerMultiprocessor>
__global__ void __launch_bounds__(Threads, BlocksPerMultiprocessor)
    softmax_register_tiles(const __grid_constant__ SoftmaxArguments a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    constexpr int runs = Threads / Columns;
    using Tile = ColumnTile<Float, Sum, runs, Columns>;
    __shared__ Tile tile;
    __shared__ Mbarrier arrivals;
    const bool alone = a.cluster_blocks == 1;
    const int states = a.cluster_blocks * Tile::blocks;
    if (!alone) {
        if (thread_x_again() == 0) {
            arrivals.expect(static_cast<unsigned>(states * Columns) * sizeof(tile.own[0][0]));
        }
        join_cluster();
    }
    const int present_runs = static_cast<int>(blockDim.x) / Columns;
    const int warps = static_cast<int>(blockDim.x) / warp_lanes;
    Float x[column_run];
    {
        const ColumnPlace<Columns> from(a, runs);
        const T *data = static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(from.outer) * a.outer_stride +
                        static_cast<std::ptrdiff_t>(from.inner) * a.inner_stride + from.first * a.axis_stride;
        load_column(a, data, from.count, x);
        Float maximum = larger_with_nan(x[0], x[0]);
#pragma unroll
        for (int i = 1; i < column_run; ++i) {
            maximum = larger_with_nan(maximum, x[i]);
        }
        tile.maxima[from.run][from.column] = maximum;
    }
    __syncthreads();
    for (int p = warp_again(); p < Tile::blocks * Columns; p += warps) {
        const int run = p / Columns * runs_of_block + lane_index(), column = p % Columns;
        Float maximum = -std::numeric_limits<Float>::infinity();
        if (run < present_runs) {
            maximum = tile.maxima[run][column];
        }
        maximum = warp_maximum(maximum);
        if (lane_index() == 0) {
            tile.own[p / Columns][column].maximum = maximum;
            tile.own[p / Columns][column].n = state_n(maximum);
        }
    }
    __syncthreads();
    {
        const unsigned at = static_cast<unsigned>(thread_x_again());
        const int run = static_cast<int>(at / Columns), column = static_cast<int>(at % Columns);
        const Frame<Float> frame = frame_of(tile.own[run / runs_of_block][column].maximum);
        Sum levels[6];
#pragma unroll
        for (int i = 0; i < column_run; ++i) {
            const Float e = exponential_in(frame, x[i]);
            Sum sum = static_cast<Sum>(e);
            x[i] = a.log ? x[i] : e;
            int level = 0;
#pragma unroll
            for (; level < 5; ++level) {
                if (((i >> level) & 1) == 0) {
                    break;
                }
                sum = levels[level] + sum;
            }
            levels[level] = sum;
        }
        tile.sums[run][column] = levels[5];
    }
    __syncthreads();
    if (!alone) {
        await_cluster();
    }
    for (int p = warp_again(); p < Tile::blocks * Columns; p += warps) {
        const int block = p / Columns, column = p % Columns, run = block * runs_of_block + lane_index();
        Sum sum = 0;
        if (run < present_runs) {
            sum = tile.sums[run][column];
        }
        sum = tree_over_lanes<FloatSum<Sum>>(sum, warp_lanes);
        TileState<Float, Sum> state = tile.own[block][column];
        state.sum = is_special(state.maximum) ? settle_any_sum(state.maximum, sum) : sum;
        const int place = (alone ? 0 : static_cast<int>(block_in_cluster()) * Tile::blocks) + block;
        if (alone) {
            tile.states[column][state_place(place)] = state;
        } else if (lane_index() < a.cluster_blocks) {
            arrivals.send(static_cast<unsigned>(lane_index()), &tile.states[column][state_place(place)], state);
        }
    }
    __syncthreads();
    if (!alone) {
        arrivals.wait();
    }
    for (int column = warp_again(); column < Columns; column += warps) {
        const RowState<Float, Sum> total = merge_any_states(tile.states[column], states);
        if (lane_index() == 0) {
            tile.totals[column] = {total.maximum, state_n(total.maximum), total.sum};
        }
        if (a.log) {
            const LogRow<Float> row = log_row(total);
            if (lane_index() == 0) {
                tile.logs[column] = row;
            }
        }
    }
    __syncthreads();
    const ColumnPlace<Columns> to(a, runs);
    const TileState<Float, Sum> own = tile.own[to.run / runs_of_block][to.column], total = tile.totals[to.column];
    T *output =
        static_cast<T *>(a.output) + (to.outer * a.axis + static_cast<std::uint64_t>(to.first)) * a.inner + to.inner;
    const RowKind kind = row_kind(total.maximum);
    if (kind != RowKind::ordinary) {
        const Float special = special_output<Float>(kind, a.log, a.empty_row_zero);
#pragma unroll 1
        for (int i = 0; i < to.count; ++i) {
            store_any(special, a.output_type, a.output,
                      (to.outer * a.axis + static_cast<std::uint64_t>(to.first + i)) * a.inner + to.inner);
        }
    } else if (a.log) {
        const LogPieces<Float> splits = tile.logs[to.column].splits;
#pragma unroll
        for (int i = 0; i < column_run; ++i) {
            if (i < to.count) {
                output[static_cast<std::uint64_t>(i) * a.inner] = narrow_one(log_softmax_output(x[i], splits), T());
            }
        }
    } else {
        const bool plain = is_frame(own.n) && is_frame(total.n);
        const BlockFactor<Float> factor = plain
                                              ? factor_in_pieces(power_of_two_f64(own.n - total.n), total.sum, Float())
                                              : any_factor(own.maximum, RowState<Float, Sum>{total.maximum, total.sum});
#pragma unroll
        for (int i = 0; i < column_run; ++i) {
            if (i < to.count) {
                const Float y =
                    sizeof(T) >= sizeof(float) ? softmax_output(x[i], factor) : softmax_narrow_output(x[i], factor);
                output[static_cast<std::uint64_t>(i) * a.inner] = narrow_one(y, T());
            }
        }
    }
    if (a.logsumexp != nullptr && to.present && to.first == 0) {
        store_row_logsumexp(RowState<Float, Sum>{total.maximum, total.sum}, a, to.outer * a.inner + to.inner);
    }
}

} // namespace wr::cuda
