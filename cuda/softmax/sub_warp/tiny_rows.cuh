// Rows of a few elements, of any length up to that and at any address, one behind the other: a lane has each whole, and
// a warp some for every lane, on their way together.
#pragma once

#include "cuda/softmax/sub_warp/vectors.cuh"

namespace wr::cuda {

inline constexpr int tiny_row_blocks = 32 / short_row_warps; // of a multiprocessor
inline constexpr int tiny_warp_rows = static_cast<int>(softmax_tiny_row_batches) * warp_lanes;

// The tree over a lane's terms, a power of two of them.
template <int Count, class Sum>
__device__ __forceinline__ Sum tree_of_terms(const Sum *terms) {
    if constexpr (Count == 1) {
        return terms[0];
    } else {
        return tree_of_terms<Count / 2>(terms) + tree_of_terms<Count / 2>(terms + Count / 2);
    }
}

// A row's logits, scaled; what is behind its end repeats the first.
template <class T, int Most>
__device__ __forceinline__ void load_tiny_row(const SoftmaxArguments &a, const T *row, int axis, float (&x)[Most]) {
    const auto logit = [&](int i) {
        const float own = static_cast<float>(widen(row[i]));
        return a.scaled ? own * a.narrow_scale : own;
    };
    x[0] = logit(0);
#pragma unroll
    for (int i = 1; i < Most; ++i) {
        x[i] = x[0];
        if (i < axis) {
            x[i] = logit(i);
        }
    }
}
template <int Most>
__device__ __forceinline__ float largest_of_tiny_row(const float (&x)[Most]) {
    float maximum = larger_with_nan(x[0], x[0]);
#pragma unroll
    for (int i = 1; i < Most; ++i) {
        maximum = larger_with_nan(maximum, x[i]);
    }
    return maximum;
}

// A lane's row of a maximum that is not ordinary, whose logits are still there.
template <class T, bool Log, int Most>
__device__ __noinline__ void take_rare_tiny_row(const SoftmaxArguments &a, T *row, std::uint64_t index) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    const int axis = static_cast<int>(a.axis);
    float x[Most];
    load_tiny_row(a, row, axis, x);
    const float maximum = largest_of_tiny_row(x);
    const RowKind kind = row_kind(maximum);
    const Frame<float> frame = frame_of(maximum);
    Sum terms[Most];
#pragma unroll
    for (int i = 0; i < Most; ++i) {
        terms[i] = i < axis ? static_cast<Sum>(exponential_in(frame, x[i])) : Sum(0);
    }
    const Sum sum = settle_block_sum(maximum, tree_of_terms<Most>(terms));
    const LogRow<float> log = Log ? log_row(RowState<float, Sum>{maximum, sum}) : LogRow<float>{};
    const BlockFactor<float> factor = block_factor(maximum, maximum, sum);
    if (a.logsumexp != nullptr) {
        store_row_logsumexp(RowState<float, Sum>{maximum, sum}, a, index);
    }
#pragma unroll 1
    for (int i = 0; i < (a.output != nullptr ? axis : 0); ++i) {
        const float logit = x[0];
#pragma unroll
        for (int k = 1; k < Most; ++k) {
            x[k - 1] = x[k];
        }
        const float e = exponential_in(frame, logit);
        const float y = kind != RowKind::ordinary    ? special_output<float>(kind, Log, a.empty_row_zero)
                        : Log                        ? log_softmax_output(logit, log.splits)
                        : sizeof(T) >= sizeof(float) ? softmax_output(e, factor)
                                                     : softmax_narrow_output(e, factor);
        store_any(y, a.output_type, row, static_cast<std::size_t>(i));
    }
}

template <class T, bool Log, int Most>
__global__ void __launch_bounds__(short_row_warps *warp_lanes, tiny_row_blocks)
    softmax_tiny_rows(const __grid_constant__ SoftmaxArguments a) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    constexpr int elements = Most * tiny_warp_rows;
    __builtin_assume(threadIdx.x < short_row_warps * warp_lanes);
    __shared__ uint4 stages[short_row_warps][stage_bytes<T, elements> / vector_bytes + 1];
    pdl_wait_and_release();
    const int axis = static_cast<int>(a.axis);
    const WarpRows rows(a, a.row_batches * warp_lanes);
    if (rows.count == 0) {
        return;
    }
    const T *data = rows.input<T>(a);
    const int before = elements_before(data);
    copy_to_stage<T, elements>(a, data, rows.count * axis, stages[warp_index()]);
    T *const stage = reinterpret_cast<T *>(stages[warp_index()]) + before;
    wait_for_copies();
#pragma unroll(Most == 4 ? 4 : 1)
    for (int batch = 0; batch < tiny_warp_rows / warp_lanes; ++batch) {
        if (batch * warp_lanes >= rows.count) {
            break;
        }
        const int number = batch * warp_lanes + lane_index();
        const bool has_row = number < rows.count; // lanes without one repeat the last
        T *const row = stage + smaller(number, rows.count - 1) * axis;
        float x[Most], e[Most];
        load_tiny_row(a, row, axis, x);
        const float maximum = largest_of_tiny_row(x);
        const RowFrame<float> frame(maximum);
        Sum terms[Most];
#pragma unroll
        for (int i = 0; i < Most; ++i) {
            e[i] = 0;
            terms[i] = 0;
            if (i < axis) {
                e[i] = x[i] > frame.bound ? scaled_exponential(x[i], frame.magic_less_n) : 0.0f;
                terms[i] = term_or_zero<Sum>(e[i]);
            }
        }
        const Sum sum = tree_of_terms<Most>(terms);
        const RowState<float, Sum> total{maximum, sum};
        LogPieces<float> splits{0, 0};
        BlockFactor<float> factor{0, 0};
        if constexpr (Log) {
            splits = logsumexp_in_units(maximum, sum, term<Sum, true>(scaled_exponential(maximum, frame.magic_less_n)));
        } else {
            factor = factor_of_sum(sum, float());
        }
        __syncwarp(); // lanes without a row have read another's
        const std::uint64_t index = rows.first + static_cast<unsigned>(number);
        const bool usual = is_ordinary(maximum);
        if (has_row && !usual) {
            take_rare_tiny_row<T, Log, Most>(a, row, index);
        }
        if (has_row && usual && a.output != nullptr) {
#pragma unroll
            for (int i = 0; i < Most; ++i) {
                if (i < axis) {
                    const float y = Log                          ? log_softmax_output(x[i], splits)
                                    : sizeof(T) >= sizeof(float) ? softmax_output(e[i], factor)
                                                                 : softmax_narrow_output(e[i], factor);
                    row[i] = narrow_one(y, T());
                }
            }
        }
        if (has_row && usual && a.logsumexp != nullptr) {
            store_row_logsumexp(total, a, index);
        }
    }
    __syncwarp();
    if (a.output != nullptr) {
        copy_from_stage<T, elements>(rows.output<T>(a), rows.count * axis, stages[warp_index()], before);
    }
}

} // namespace wr::cuda
