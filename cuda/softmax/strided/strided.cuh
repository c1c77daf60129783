// Softmax with every option: any elements left out, ragged rows, any types and strides. Kernels are made for an
// arithmetic, and all else is known at run time.
#pragma once

#include "cuda/rowwise/row_tiles.cuh"
#include "cuda/rowwise/strided.cuh"

#include <bit>

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

// Softmax of columns with every option: of up to some hundred elements in the registers of the threads that share one,
// of more by threads that walk them.

// Logits of a run, scaled; -infinity in the place of those that take no part.
template <class Float, int N>
__device__ __forceinline__ void load_logits(const SoftmaxProblem &p, const ColumnRun &run, int first, int count,
                                            unsigned taken, Float (&x)[N]) {
    const Shape &s = p.shape;
    load_run(p.dtype, p.input, run.index(s.outer_stride, s.axis_stride, s.inner_stride, first), s.axis_stride,
             run.allowed<N>(first), count, x);
    const Float scale = scale_of_row<Float>(p, run.place.row);
    if (scale != Float(1)) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            x[i] = x[i] * scale;
        }
    }
#pragma unroll
    for (int group = 0; group < N; group += column_run_group) {
        constexpr unsigned all = (1u << column_run_group) - 1;
        if (((taken >> group) & all) != all) {
#pragma unroll
            for (int i = group; i < group + column_run_group; ++i) {
                x[i] = has_bit(taken, i) ? x[i] : -std::numeric_limits<Float>::infinity();
            }
        }
    }
}

// What a column's outputs are made with; `maximum`: of the tile that they are in.
template <class Float>
struct ColumnOutputs {
    bool log, ordinary, two_pieces;
    BlockFactor<Float> factor;
    LogPieces<Float> lse;
    Float special, left_out;

    template <class Sum>
    __device__ __forceinline__ ColumnOutputs(const SoftmaxProblem &p, Float maximum, const RowState<Float, Sum> &total)
        : log(p.log), two_pieces(takes_two_pieces(p.output_dtype)) {
        const RowKind kind = row_kind(total.maximum);
        ordinary = kind == RowKind::ordinary;
        factor = ordinary && !log ? factor_of(maximum, total) : BlockFactor<Float>{0, 0};
        lse = ordinary && log ? logsumexp_pieces(total) : LogPieces<Float>{0, 0};
        special = special_output<Float>(kind, log, p.empty_row_zero);
        left_out = left_out_output<Float>(kind, log, p.empty_row_zero);
    }

    // values: logits for log-softmax, else their exponentials.
    template <int N>
    __device__ __forceinline__ void form(Float (&values)[N], unsigned taken) const {
        if (!ordinary) {
#pragma unroll
            for (int i = 0; i < N; ++i) {
                values[i] = has_bit(taken, i) ? special : left_out;
            }
        } else if (log) {
#pragma unroll
            for (int i = 0; i < N; ++i) {
                values[i] = log_softmax_output(values[i], lse);
            }
        } else if (two_pieces) {
#pragma unroll
            for (int i = 0; i < N; ++i) {
                values[i] = softmax_output(values[i], factor);
            }
        } else {
#pragma unroll
            for (int i = 0; i < N; ++i) {
                values[i] = softmax_narrow_output(values[i], factor);
            }
        }
    }
};

// The natural tree over exponentials of a run: what takes no part has 0, which changes no sum of exponentials.
template <class Sum, class Float, int N>
__device__ __forceinline__ Sum sum_of_exponentials(const Float (&e)[N]) {
    Sum terms[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
        terms[i] = term_or_zero<Sum>(e[i]);
    }
    return run_sum<N, Sum>(terms);
}

// The logits of a tile of a column that a thread walks, a step at a time.
template <class Float, class Sum>
struct LoopedLogits {
    const SoftmaxProblem &p;
    const ColumnRun &run;
    Float x[walk_step];
    unsigned taken = 0;
    int held = -1; // the step's first element

    __device__ __forceinline__ LoopedLogits(const SoftmaxProblem &problem, const ColumnRun &of) : p(problem), run(of) {}

    __device__ __forceinline__ Float maximum() {
        Float maximum = -std::numeric_limits<Float>::infinity();
#pragma unroll 1
        for (int first = 0; first < run.count; first += walk_step) {
            load(first);
#pragma unroll
            for (int i = 0; i < walk_step; ++i) {
                maximum = larger_with_nan(maximum, x[i]);
            }
        }
        return maximum;
    }

    __device__ __forceinline__ RowState<Float, Sum> partial() {
        const Float largest = maximum();
        const Frame<Float> frame = frame_of(largest);
        TreeCounter<FloatSum<Sum>, 8> counter;
#pragma unroll 1
        for (int first = 0; first < run.count; first += walk_step) {
            load(first);
            Float e[walk_step];
#pragma unroll
            for (int i = 0; i < walk_step; ++i) {
                e[i] = exponential_in(frame, x[i]);
            }
            counter.push(sum_of_exponentials<Sum>(e));
        }
        return {largest, settle_block_sum(largest, counter.result())};
    }

    __device__ __forceinline__ void write(const RowState<Float, Sum> &own, const RowState<Float, Sum> &total) {
        const ColumnOutputs<Float> outputs(p, own.maximum, total);
        const Frame<Float> frame = frame_of(own.maximum);
#pragma unroll 1
        for (int first = 0; first < run.count; first += walk_step) {
            load(first);
            Float y[walk_step];
#pragma unroll
            for (int i = 0; i < walk_step; ++i) {
                y[i] = p.log ? x[i] : exponential_in(frame, x[i]);
            }
            outputs.form(y, taken);
            store_run(p.output_dtype, p.output, run.output_index(first), run.place.first_stride,
                      run.present<walk_step>(first), run.count - first, y);
        }
    }

  private:
    __device__ __forceinline__ void load(int first) {
        if (first != held) {
            held = first;
            taken = run.taken<walk_step>(p.selection, first);
            load_logits(p, run, first, run.count - first, taken, x);
        }
    }
};

// The exponentials of the first `count` logits that a thread holds, in their place unless log-softmax has a use for
// these, and their natural tree; 0 behind them.
template <class Sum, class Float, int N>
__device__ __forceinline__ Sum form_exponentials(const Frame<Float> &frame, bool log, int count, Float (&values)[N]) {
    constexpr int groups = N / column_run_group, levels = std::bit_width(static_cast<unsigned>(groups));
    Sum waiting[levels]; // of each level of the tree: no more sums than that are kept in registers
#pragma unroll
    for (int g = 0; g < groups; ++g) {
        Sum sum = FloatSum<Sum>::identity();
        Float e[column_run_group] = {};
        if (g * column_run_group < count) {
#pragma unroll
            for (int i = 0; i < column_run_group; ++i) {
                e[i] = exponential_in(frame, values[g * column_run_group + i]);
            }
            sum = sum_of_exponentials<Sum>(e);
        }
#pragma unroll
        for (int i = 0; i < column_run_group; ++i) {
            Float &value = values[g * column_run_group + i];
            value = log ? value : e[i];
        }
        int level = 0;
#pragma unroll
        for (; ((g >> level) & 1) != 0; ++level) {
            sum = waiting[level] + sum;
        }
        waiting[level] = sum;
    }
    return waiting[levels - 1];
}

// Elements of a column in a thread's registers.
template <class Float, class Sum>
struct ResidentLogits {
    static constexpr int N = resident_elements<Float>;
    struct Totals {
        ColumnExchange<Float> maxima;
        ColumnExchange<Sum> sums;
    };
    Float values[N];

    __device__ __forceinline__ void load(const SoftmaxProblem &p, const ColumnRun &run, NoRow, int first, int count,
                                         unsigned taken) {
        load_logits(p, run, first, count, taken, values);
    }
    __device__ __forceinline__ RowState<Float, Sum> total(const SoftmaxProblem &p, const HeldPlace &at, int count,
                                                          unsigned, Totals &totals) {
        Float maximum = values[0];
#pragma unroll
        for (int i = 1; i < N; ++i) {
            maximum = larger_with_nan(maximum, values[i]);
        }
        maximum = totals.maxima.over_column(at, maximum, [](Float x, Float y) { return larger_with_nan(x, y); });
        const Sum own = form_exponentials<Sum>(frame_of(maximum), p.log, count, values);
        const Sum sum = totals.sums.over_column(at, own, [](Sum x, Sum y) { return x + y; });
        return {maximum, settle_block_sum(maximum, sum)};
    }
    __device__ __forceinline__ void write(const SoftmaxProblem &p, const ColumnRun &run, NoRow, int first, int count,
                                          unsigned taken, const RowState<Float, Sum> &total) {
        const ColumnOutputs<Float> outputs(p, total.maximum, total);
        outputs.form(values, taken);
        store_run(p.output_dtype, p.output, run.output_index(first), run.place.first_stride, run.present<N>(first),
                  count, values);
    }
};

// The same operation where threads have parts of columns.
template <class Float, class Sum>
struct StridedColumnSoftmax : StridedSoftmax<Float, Sum> {
    using Column = LoopedLogits<Float, Sum>;
    using ResidentRun = ResidentLogits<Float, Sum>;
    static constexpr int resident_column_registers = 80; // for 24 warps a multiprocessor
};

} // namespace wr::cuda::strided
