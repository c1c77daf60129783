// Softmax of columns with every option: of up to some hundred elements in the registers of the threads that share one,
// of more by threads that walk them.
#pragma once

#include "cuda/rowwise/strided_columns.cuh"
#include "cuda/softmax/strided/rows.cuh"

#include <bit>

namespace wr::cuda::strided {

template <class Float, int N>
__device__ __forceinline__ void load_logits(const SoftmaxProblem &p, const ColumnRun &run, int first, int count,
                                            Float (&x)[N]) {
    const Shape &s = p.shape;
    load_run(p.dtype, p.input, run.index(s.outer_stride, s.axis_stride, s.inner_stride, first), s.axis_stride,
             run.allowed<N>(first), count, x);
}

// Scales logits, and puts -infinity in the place of those that take no part.
template <class Float, int N>
__device__ __forceinline__ void prepare_logits(const SoftmaxProblem &p, std::size_t row, unsigned taken,
                                               Float (&x)[N]) {
    const Float scale = scale_of_row<Float>(p, row);
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

// The logits of a tile of a column that a thread walks, a step at a time: those of one step are read once.
inline constexpr int walk_step = 8;

template <class Float>
struct LoopedLogits {
    const SoftmaxProblem &p;
    const ColumnRun &run;
    Float x[walk_step];
    unsigned taken = 0;
    int held = -1; // the step's first element

    __device__ __forceinline__ LoopedLogits(const SoftmaxProblem &problem, const ColumnRun &of) : p(problem), run(of) {}

    __device__ __forceinline__ void load(int first) {
        if (first != held) {
            held = first;
            load_logits(p, run, first, run.count - first, x);
            taken = run.taken<walk_step>(p.selection, first);
            prepare_logits(p, run.place.row, taken, x);
        }
    }
};

template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> looped_state(LoopedLogits<Float> &logits) {
    const int count = logits.run.count;
    Float maximum = -std::numeric_limits<Float>::infinity();
#pragma unroll 1
    for (int first = 0; first < count; first += walk_step) {
        logits.load(first);
#pragma unroll
        for (int i = 0; i < walk_step; ++i) {
            maximum = larger_with_nan(maximum, logits.x[i]);
        }
    }
    const Frame<Float> frame = frame_of(maximum);
    TreeCounter<FloatSum<Sum>, 8> counter;
#pragma unroll 1
    for (int first = 0; first < count; first += walk_step) {
        logits.load(first);
        Float e[walk_step];
#pragma unroll
        for (int i = 0; i < walk_step; ++i) {
            e[i] = exponential_in(frame, logits.x[i]);
        }
        counter.push(sum_of_exponentials<Sum>(e));
    }
    return {maximum, settle_block_sum(maximum, counter.result())};
}

template <class Float, class Sum>
__device__ __forceinline__ void write_looped(LoopedLogits<Float> &logits, Float maximum,
                                             const RowState<Float, Sum> &total) {
    const SoftmaxProblem &p = logits.p;
    const ColumnRun &run = logits.run;
    const ColumnOutputs<Float> outputs(p, maximum, total);
    const Frame<Float> frame = frame_of(maximum);
#pragma unroll 1
    for (int first = 0; first < run.count; first += walk_step) {
        logits.load(first);
        Float y[walk_step];
#pragma unroll
        for (int i = 0; i < walk_step; ++i) {
            const Float x = logits.x[i];
            y[i] = p.log ? x : exponential_in(frame, x);
        }
        outputs.form(y, logits.taken);
        store_run(p.output_dtype, p.output, run.output_index(first), run.place.first_stride,
                  run.present<walk_step>(first), run.count - first, y);
    }
}

// Blocks of threads that walk columns and that a multiprocessor should hold.
template <class Float>
inline constexpr int walking_resident_blocks = sizeof(Float) == 4 ? 3 : 2;

// Columns, of which a thread walks a tile: the states of these or, once the columns' totals are there, their
// outputs; and of columns of one tile, which have no splits, all that is wanted.
template <class Float, class Sum>
__global__ void __launch_bounds__(strided_block_threads, walking_resident_blocks<Float>)
    strided_columns(const __grid_constant__ StridedSoftmaxArguments a) {
    const SoftmaxProblem &p = a.problem;
    const bool whole = a.splits == 0;
    const std::size_t blocks = whole ? 1 : a.splits, jobs = p.shape.outer * p.shape.inner * blocks;
    for (std::size_t job = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; job < jobs;
         job += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
        const LoopedTile own(p.shape, blocks, job);
        const ColumnRun run(p.shape, p.selection, own.row, own.block * softmax_block, softmax_block);
        const std::size_t split = own.row * blocks + own.block;
        LoopedLogits<Float> logits(p, run);
        RowState<Float, Sum> state, total;
        if (a.applies) {
            state.maximum = static_cast<Float>(a.states[split].maximum);
            total = loaded_state<Float, Sum>(a.totals[own.row]);
        } else {
            state = total = looped_state<Float, Sum>(logits);
            if (whole) {
                store_row_values(p, own.row, total);
            } else {
                a.states[split] = {static_cast<double>(state.maximum), static_cast<double>(state.sum)};
            }
        }
        if (p.output != nullptr && (whole || a.applies)) {
            write_looped(logits, state.maximum, total);
        }
    }
}

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

// Columns of up to resident_column_warps times as many elements as a thread holds, read once: 32 side by side by
// the warps of one threadIdx.y, each of which has a run of their elements.
template <class Float, class Sum>
__global__ void __maxnreg__(resident_column_registers)
    strided_resident_columns(const __grid_constant__ StridedSoftmaxArguments a) {
    constexpr int N = resident_elements<Float>;
    __shared__ ColumnExchange<Float> maxima;
    __shared__ ColumnExchange<Sum> sums;
    const SoftmaxProblem &p = a.problem;
    const HeldPlace own(p.shape);
    const ColumnRun run(p.shape, p.selection, own.row, own.begin<N>(), own.there ? N : 0);
    const int count = own.elements<N>(p.shape.axis);
    const unsigned taken = run.taken<N>(p.selection, 0); // first: there are no registers for both at once
    Float values[N];
    load_logits(p, run, 0, count, values);
    prepare_logits(p, own.row, taken, values);
    Float maximum = values[0];
#pragma unroll
    for (int i = 1; i < N; ++i) {
        maximum = larger_with_nan(maximum, values[i]);
    }
    maximum = maxima.over_column(own, maximum, [](Float x, Float y) { return larger_with_nan(x, y); });
    const Sum own_sum = form_exponentials<Sum>(frame_of(maximum), p.log, count, values);
    const Sum sum = sums.over_column(own, own_sum, [](Sum x, Sum y) { return x + y; });
    const RowState<Float, Sum> total{maximum, settle_block_sum(maximum, sum)};
    if (own.member == 0 && own.there) {
        store_row_values(p, own.row, total);
    }
    if (p.output != nullptr) {
        const ColumnOutputs<Float> outputs(p, maximum, total);
        outputs.form(values, taken);
        store_run(p.output_dtype, p.output, run.output_index(0), run.place.first_stride, run.present<N>(0), count,
                  values);
    }
}

} // namespace wr::cuda::strided
