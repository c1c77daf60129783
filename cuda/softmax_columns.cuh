// Softmax along an axis that is not the innermost, or with any strides: a thread walks one base block of one column.
#pragma once

#include "cuda/softmax_long_rows.cuh"

namespace wr::cuda {

inline constexpr int column_softmax_threads = 128;

// The run of a column that a thread walks.
template <class T>
struct ColumnRun {
    using Float = typename SoftmaxArithmetic<T>::Float;
    const T *data;
    std::ptrdiff_t stride;
    std::size_t row, block, output;
    int count;
    Float scale;
    bool scaled;

    // Job number: blocks of the axis outermost, so that neighbouring threads walk neighbouring columns.
    __device__ ColumnRun(const SoftmaxArguments &a, std::size_t job) {
        const std::size_t i = job % a.inner, rest = job / a.inner;
        block = rest % a.pieces;
        const std::size_t o = rest / a.pieces;
        row = o * a.inner + i;
        const std::size_t first = block * softmax_block;
        count = static_cast<int>(smaller(a.axis - first, softmax_block));
        stride = a.axis_stride;
        data = static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(o) * a.outer_stride +
               static_cast<std::ptrdiff_t>(i) * a.inner_stride + static_cast<std::ptrdiff_t>(first) * stride;
        output = (o * a.axis + first) * a.inner + i;
        scaled = a.scaled;
        scale = static_cast<Float>(a.scale);
    }

    __device__ Float operator[](int at) const {
        const Float x = static_cast<Float>(widen(data[at * stride]));
        return scaled ? x * scale : x;
    }
};

template <class T>
__global__ void __launch_bounds__(column_softmax_threads)
    softmax_column_states(const __grid_constant__ SoftmaxArguments a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    allow_dependent_launch();
    const std::size_t jobs = a.outer * a.inner * a.pieces;
    for (std::size_t job = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; job < jobs;
         job += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
        const ColumnRun<T> run(a, job);
        Float maximum = run[0];
#pragma unroll 8
        for (int at = 1; at < run.count; ++at) {
            maximum = larger_with_nan(maximum, run[at]);
        }
        const Frame<Float> frame = frame_of(maximum);
        constexpr int group = 8;
        TreeCounter<FloatSum<Sum>, 8> counter;
        for (int first = 0; first < run.count; first += group) {
            Sum e[group];
#pragma unroll
            for (int j = 0; j < group; ++j) {
                e[j] = first + j < run.count ? static_cast<Sum>(exponential_in(frame, run[first + j])) : Sum(-0.0);
            }
            counter.push(((e[0] + e[1]) + (e[2] + e[3])) + ((e[4] + e[5]) + (e[6] + e[7])));
        }
        const Sum sum = settle_block_sum(maximum, counter.result());
        a.states[run.row * a.pieces + run.block] = {static_cast<double>(maximum), static_cast<double>(sum)};
    }
}

template <class T>
__global__ void __launch_bounds__(column_softmax_threads)
    softmax_column_apply(const __grid_constant__ SoftmaxArguments a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    wait_for_previous_kernel();
    const std::size_t jobs = a.outer * a.inner * a.pieces;
    const bool two_pieces = takes_two_pieces(a.output_type);
    for (std::size_t job = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; job < jobs;
         job += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
        const ColumnRun<T> run(a, job);
        const Float maximum = static_cast<Float>(a.states[run.row * a.pieces + run.block].maximum);
        const StoredState stored = a.totals[run.row];
        const RowState<Float, Sum> total{static_cast<Float>(stored.maximum), static_cast<Sum>(stored.sum)};
        const RowKind kind = row_kind(total.maximum);
        const bool ordinary = kind == RowKind::ordinary;
        const Frame<Float> frame = frame_of(maximum);
        const BlockFactor<Float> factor =
            ordinary ? block_factor(maximum, total.maximum, total.sum) : BlockFactor<Float>{0, 0};
        const LogPieces<Float> lse =
            ordinary && a.log ? row_logsumexp(total.maximum, total.sum) : LogPieces<Float>{0, 0};
        const Float special = special_output<Float>(kind, a.log, a.empty_row_zero);
        for (int at = 0; at < run.count; ++at) {
            Float y = special;
            if (ordinary) {
                const Float x = run[at];
                if (a.log) {
                    y = log_softmax_output(x, lse);
                } else {
                    const Float e = exponential_in(frame, x);
                    y = two_pieces ? softmax_output(e, factor) : softmax_narrow_output(e, factor);
                }
            }
            store_float(y, a.output_type, a.output, run.output + static_cast<std::size_t>(at) * a.inner);
        }
    }
}

} // namespace wr::cuda
