// Softmax with every option: any elements left out, ragged rows, any types and strides. Kernels are made for an
// arithmetic, and all else is known at run time.
#pragma once

#include "cuda/rowwise/row_states.cuh"
#include "cuda/rowwise/strided_rows.cuh"

namespace wr::cuda::strided {

template <class Float, class Sum>
__device__ __noinline__ BlockFactor<Float> factor_of(Float maximum, RowState<Float, Sum> row) {
    return block_factor(maximum, row.maximum, row.sum);
}

template <class Float, class Sum>
__device__ __noinline__ LogPieces<Float> logsumexp_pieces(RowState<Float, Sum> row) {
    return row_logsumexp(row.maximum, row.sum);
}

struct NoRow {}; // nothing is known of a row before its elements are

// A tile of a row in a warp's registers: its exponentials, or for log-softmax, which has no further use for them,
// its logits, so that one array is enough.
template <class Float, class Sum>
struct StridedTile {
    Float values[lane_elements];
    TakenElements taken;

    __device__ __forceinline__ RowState<Float, Sum> load(const SoftmaxProblem &p, const StridedRow &place, NoRow,
                                                         std::size_t begin) {
        return load(p, place, begin, [](Float own) { return own; });
    }

    // Of a part of a tile, whose largest logit largest_of makes of the part's own.
    template <class LargestOf>
    __device__ __forceinline__ RowState<Float, Sum> load(const SoftmaxProblem &p, const StridedRow &place,
                                                         std::size_t begin, LargestOf largest_of) {
        taken = TakenElements(p.selection, place, begin);
        if (taken.none) {
            fill(values, p.log ? -std::numeric_limits<Float>::infinity() : Float(0));
            return StateMerge<Float, Sum>::identity();
        }
        load_taken(p, place, begin);
        Float maximum = values[0];
#pragma unroll
        for (int i = 1; i < lane_elements; ++i) {
            maximum = larger_with_nan(maximum, values[i]);
        }
        maximum = largest_of(warp_maximum(maximum));
        const Frame<Float> frame = frame_of(maximum);
        // In the pairs of the exchange's first step, so that half as many sums wait in registers.
        constexpr int half = lane_elements / 2;
        Sum sums[half];
#pragma unroll
        for (int i = 0; i < half; ++i) {
            const Float low = exponential_in(frame, values[i]), high = exponential_in(frame, values[i + half]);
            values[i] = p.log ? values[i] : low;
            values[i + half] = p.log ? values[i + half] : high;
            sums[i] = exchange_pair<FloatSum<Sum>, 0>(static_cast<Sum>(low), static_cast<Sum>(high));
        }
        return {maximum, settle_block_sum(maximum, warp_tree<FloatSum<Sum>, 1>(sums))};
    }

    // The logits alone, scaled; -infinity in the place of those that take no part.
    __device__ __forceinline__ void load_logits(const SoftmaxProblem &p, const StridedRow &place, std::size_t begin) {
        taken = TakenElements(p.selection, place, begin);
        if (taken.none) {
            fill(values, -std::numeric_limits<Float>::infinity());
        } else {
            load_taken(p, place, begin);
        }
    }

    __device__ __forceinline__ void write(const SoftmaxProblem &p, const StridedRow &place, NoRow, std::size_t begin,
                                          const RowState<Float, Sum> &own, const RowState<Float, Sum> &row) {
        write(p, place, begin, own.maximum, row);
    }
    // The outputs, in the place of the values, and from there to memory.
    __device__ __forceinline__ void write(const SoftmaxProblem &p, const StridedRow &place, std::size_t begin,
                                          Float maximum, const RowState<Float, Sum> &row) {
        const TakenElements present = elements_there(place, begin);
        if (present.none) {
            return;
        }
        const RowKind kind = row_kind(row.maximum);
        if (kind != RowKind::ordinary) {
            const Float special = special_output<Float>(kind, p.log, p.empty_row_zero);
            const Float left_out = left_out_output<Float>(kind, p.log, p.empty_row_zero);
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                values[i] = taken.has(i) ? special : left_out;
            }
        } else if (p.log) {
            const LogPieces<Float> lse = logsumexp_pieces(row);
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                values[i] = log_softmax_output(values[i], lse);
            }
        } else {
            multiply(factor_of(maximum, row), takes_two_pieces(p.output_dtype));
        }
        store_elements(p.output_dtype, p.output, place, begin, present, values);
    }

  private:
    __device__ __forceinline__ void load_taken(const SoftmaxProblem &p, const StridedRow &place, std::size_t begin) {
        const std::ptrdiff_t index = strided_index(place, p.selection.ragged, p.shape.outer_stride, p.shape.axis_stride,
                                                   p.shape.inner_stride, begin);
        LoadedElements<Float> loaded;
        loaded.load(p.dtype, p.input, index, p.shape.axis_stride, taken);
        __syncwarp(); // all that is formed waits for the last load
        loaded.widen_to(p.dtype, values);
        const Float scale = scale_of_row<Float>(p, place.row);
        if (scale != Float(1)) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                values[i] = values[i] * scale;
            }
        }
        if (!taken.all) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                values[i] = taken.has(i) ? values[i] : -std::numeric_limits<Float>::infinity();
            }
        }
    }

    __device__ __forceinline__ void multiply(const BlockFactor<Float> &factor, bool two_pieces) {
        if (two_pieces) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                values[i] = softmax_output(values[i], factor);
            }
        } else {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                values[i] = softmax_narrow_output(values[i], factor);
            }
        }
    }
};

template <class Float, class Sum>
__device__ __forceinline__ void store_row_values(const SoftmaxProblem &p, std::size_t row,
                                                 const RowState<Float, Sum> &total) {
    if (p.logsumexp != nullptr) {
        store_float(logsumexp_of(total.maximum, total.sum), p.logsumexp_dtype, p.logsumexp, row);
    }
    if (p.maximum != nullptr) {
        store_maximum(total.maximum, p.maximum, row);
    }
}

// The largest value of neighbouring lanes, `lanes` (a power of two) of them, in each.
template <class Float>
__device__ __forceinline__ Float maximum_over_lanes(Float value, int lanes) {
    for (int distance = 1; distance < lanes; distance *= 2) {
        value = larger_with_nan(value, from_lane_xor(value, distance));
    }
    return value;
}

// Softmax, log-softmax and the logsumexp as an operation on rows.
template <class F, class S>
struct StridedSoftmax {
    using Float = F;
    using Sum = S;
    using Problem = SoftmaxProblem;
    using Partial = RowState<Float, Sum>;
    using Stored = StoredState;
    using Combine = StateMerge<Float, Sum>;
    using Tile = StridedTile<Float, Sum>;
    using RowTotals = RowStates<Partial, strided_row_warps>;
    using Row = NoRow;

    // For 20 warps a multiprocessor (E4M3 of 5000 off the boundaries: 0.71 TB/s on an H200, with 128, of which none are
    // spilled, 0.62, with 80 0.68; logarithms of 4096 f32 into E4M3 1.37, 1.39, 1.18).
    static constexpr int whole_row_registers = 96;

    __device__ __forceinline__ static Row row(const Problem &, std::size_t) { return {}; }
    __device__ __forceinline__ static bool writes(const Problem &p) { return p.output != nullptr; }
    __device__ __forceinline__ static Partial over_lanes(Partial own) { return merge_any_lanes(own); }
    __device__ __forceinline__ static Stored stored(const Partial &own) {
        return {static_cast<double>(own.maximum), static_cast<double>(own.sum)};
    }
    __device__ __forceinline__ static Partial loaded(const Stored &own) {
        return {static_cast<Float>(own.maximum), static_cast<Sum>(own.sum)};
    }
    __device__ __forceinline__ static void finish(const Problem &p, std::size_t row, const Partial &total) {
        store_row_values(p, row, total);
    }

    // First the row's maximum, then the natural tree over the scaled sums.
    __device__ __forceinline__ static Partial total(const Stored *states, std::size_t splits, std::size_t begin,
                                                    std::size_t end, int lanes) {
        Float maximum = -std::numeric_limits<Float>::infinity();
        for (std::size_t split = begin; split < end; ++split) {
            maximum = larger_with_nan(maximum, static_cast<Float>(states[split].maximum));
        }
        maximum = maximum_over_lanes(maximum, lanes);
        const auto scaled = [&](std::size_t split) {
            const Partial state = loaded(states[split]);
            return scale_by_power(state.sum, frame_gap(state.maximum, maximum));
        };
        Sum sum = FloatSum<Sum>::identity();
        if (splits <= warp_lanes) {
            sum = begin < end ? scaled(begin) : sum;
        } else {
            TreeCounter<FloatSum<Sum>, 40> counter;
            for (std::size_t split = begin; split < end; ++split) {
                counter.push(scaled(split));
            }
            sum = counter.result();
        }
        return {maximum, tree_over_lanes<FloatSum<Sum>>(sum, lanes)};
    }
};

} // namespace wr::cuda::strided
