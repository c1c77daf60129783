// The states of columns, from the sums of a block's warps to the factors of outputs.
#pragma once

#include "cuda/softmax/columns/cluster_maxima.cuh"

namespace wr::cuda {

template <class Float, class Sum>
__device__ __noinline__ Sum settle_large_sum(Float maximum, Sum sum) {
    return settle_block_sum(maximum, sum);
}
template <class Float, class Sum>
__device__ __noinline__ BlockFactor<Float> slow_tile_factor(Float maximum, Float row_maximum, Sum row_sum) {
    return block_factor(maximum, row_maximum, row_sum);
}

// The states of the tile's columns in each tile.
template <class T, class Shape>
class ColumnStates : protected ColumnMaxima<T, Shape> {
  protected:
    using Base = ColumnMaxima<T, Shape>;
    using Base::a;
    using Base::all;
    using Base::Base;
    using Base::each;
    using Base::memory;
    using Base::pair;
    using Base::rank;
    using Base::tile_maximum;
    using typename Base::Float;
    using typename Base::Sum;
    using State = RowState<Float, Sum>;

    // [column][part], of two tiles in turn.
    __device__ __forceinline__ State *states_of(unsigned slot) const {
        return reinterpret_cast<State *>(launched_memory() + column_fixed_bytes<T, Shape>) +
               (slot << (Shape::log_columns + all.log_parts));
    }

    __device__ __forceinline__ void expect_states(unsigned slot) {
        memory.states_arrived[slot].announce(
            static_cast<unsigned>(a.cluster_blocks * Shape::tile_count * Shape::columns) *
            static_cast<unsigned>(sizeof(State)));
    }

    // The tree over what the lanes of a column have.
    __device__ __forceinline__ static Sum sum_of_runs(Sum sum) {
#pragma unroll
        for (int distance = Shape::across; distance < warp_lanes; distance *= 2) {
            sum = sum + from_lane_xor(sum, distance);
        }
        return sum;
    }

    __device__ __forceinline__ void leave_sums(const Sum (&sums)[each]) const {
        if (lane_index() < Shape::across) {
#pragma unroll
            for (int c = 0; c < each; ++c) {
                memory.sums[warp_again()][lane_index() * each + c] = sums[c];
            }
        }
    }

    // The states of this block's parts go to all blocks of the cluster.
    __device__ __forceinline__ void send_states(unsigned turn) {
        using Items = ColumnItems<Shape, Shape::tile_count * Shape::columns>;
        const int x = thread_x_again();
        const unsigned slot = turn & 1u;
        if (Items::threads == Shape::threads || x < Items::threads) {
            const int item = x / Items::lanes, lane = x % Items::lanes;
            const int group = item / Shape::columns, column = item % Shape::columns;
            const Sum *const from = &memory.sums[group * Shape::group_warps + lane * Items::run][column];
            Sum of_run[Items::run];
#pragma unroll
            for (int i = 0; i < Items::run; ++i) {
                of_run[i] = from[i * (Shape::columns + 1)];
            }
            Sum sum = run_sum<Items::run, Sum>(of_run);
#pragma unroll
            for (int distance = 1; distance < Items::lanes; distance *= 2) {
                sum = sum + from_lane_xor(sum, distance);
            }
            const Float maximum = column_of_word<T>(tile_maximum(group, column / pair), column % pair);
            State *const place = states_of(slot) + (column << all.log_parts) + (rank() * Shape::tile_count + group);
            for (int to = lane; to < a.cluster_blocks; to += Items::lanes) {
                memory.states_arrived[slot].send(static_cast<unsigned>(to), place, State{maximum, sum});
            }
        }
    }

    __device__ __forceinline__ void await_states(unsigned turn) {
        const unsigned slot = turn & 1u;
        memory.states_arrived[slot].wait((turn / 2) & 1u);
        if (thread_x_again() == 0) {
            expect_states(slot);
        }
    }

    // What the outputs of each column of this block's tiles are multiplied by; the high piece is NaN where a
    // column is not ordinary, whose outputs are then the low piece.
    __device__ __forceinline__ void decide(std::uint32_t tile, unsigned slot) const {
        const int parts = 1 << all.log_parts;
        const State *const states = states_of(slot);
        for (int at = thread_x_again(); at < parts * Shape::columns; at += Shape::threads) {
            const int part = at & (parts - 1), column = at >> all.log_parts;
            State own{-std::numeric_limits<Float>::infinity(), Sum(0)};
            if (part < a.cluster_blocks * Shape::tile_count) {
                own = states[at];
            }
#pragma unroll
            for (int distance = 1; distance < Shape::span; distance *= 2) {
                if (distance < parts) {
                    own.maximum = larger_with_nan(own.maximum, from_lane_xor(own.maximum, distance));
                    own.sum = own.sum + from_lane_xor(own.sum, distance);
                }
            }
            Float maximum = larger_with_nan(own.maximum, own.maximum);
            Sum sum = own.sum;
            if (is_large(own.maximum)) {
                sum = settle_large_sum(own.maximum, sum);
            }
            if (parts > Shape::span) {
                for (int distance = Shape::span; distance < parts; distance *= 2) {
                    maximum = larger_with_nan(maximum, from_lane_xor(maximum, distance));
                }
                sum = scale_by_power(sum, frame_gap(own.maximum, maximum));
                for (int distance = Shape::span; distance < parts; distance *= 2) {
                    sum = sum + from_lane_xor(sum, distance);
                }
            }
            const int group = part - rank() * Shape::tile_count;
            if (group >= 0 && group < Shape::tile_count) {
                BlockFactor<Float> factor{std::numeric_limits<Float>::quiet_NaN(), 0};
                if (is_ordinary(own.maximum) && is_ordinary(maximum)) {
                    const std::int32_t gap = nearest_exponent(own.maximum) - nearest_exponent(maximum);
                    factor = factor_in_pieces(power_of_two_f64(gap), sum, Float());
                } else if (row_kind(maximum) == RowKind::ordinary) {
                    factor = slow_tile_factor(own.maximum, maximum, sum);
                } else {
                    factor.low = special_output<Float>(row_kind(maximum), false, a.empty_row_zero);
                }
                memory.high[group][column] = factor.high;
                memory.low[group][column] = factor.low;
            }
            if (a.logsumexp != nullptr && part == 0 && rank() == 0) {
                const std::uint64_t inner =
                    (static_cast<std::uint64_t>(tile % all.tiles_across) << Shape::log_columns) +
                    static_cast<unsigned>(column);
                if (inner < a.inner) {
                    store_row_logsumexp(RowState<Float, Sum>{maximum, sum}, a.logsumexp,
                                        tile / all.tiles_across * a.inner + inner);
                }
            }
        }
    }
};

} // namespace wr::cuda
