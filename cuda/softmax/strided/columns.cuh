// Softmax of columns with every option: of up to some hundred elements in the registers of the threads that share one,
// of more by threads that walk them.
#pragma once

#include "cuda/rowwise/strided_columns.cuh"
#include "cuda/softmax/strided/rows.cuh"

#include <bit>

namespace wr::cuda::strided {

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
