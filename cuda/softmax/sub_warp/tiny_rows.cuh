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

// Of a warp's rows, number 32 b + l being one of lane l, those that are not ordinary: their logits are still there.
template <class T, bool Log, int Most>
__device__ __noinline__ void take_rare_tiny_rows(const SoftmaxArguments &a, T *stage, unsigned rare_batches) {
    const int axis = static_cast<int>(a.axis);
    const WarpRows rows(a, tiny_warp_rows);
    for (int batch = 0; batch < tiny_warp_rows / warp_lanes; ++batch) {
        const bool rare = (rare_batches >> batch & 1) != 0;
        const int number = smaller(batch * warp_lanes + lane_index(), rows.count - 1);
        float x[Most];
        load_tiny_row(a, stage + number * axis, axis, x);
        softmax_rows_alone<T, Log>(a, stage, stage, rows.first, rare, number, largest_of_tiny_row(x));
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
    const WarpRows rows(a, tiny_warp_rows);
    if (rows.count == 0) {
        return;
    }
    const T *data = rows.input<T>(a);
    const int before = elements_before(data);
    copy_to_stage<T, elements>(a, data, rows.count * axis, stages[warp_index()]);
    T *const stage = reinterpret_cast<T *>(stages[warp_index()]) + before;
    wait_for_copies();
    unsigned rare_batches = 0;
#pragma unroll
    for (int batch = 0; batch < tiny_warp_rows / warp_lanes; ++batch) {
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
        // Their outputs are not stored, so that nobody needs to know what their exponentials are.
        const bool rare = has_row && !is_ordinary(maximum);
        rare_batches |= (rare ? 1u : 0u) << batch;
        __syncwarp();
        if (has_row && !rare && a.output != nullptr) {
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
        if (a.logsumexp != nullptr && has_row) {
            store_row_logsumexp(total, a, rows.first + static_cast<unsigned>(number));
        }
    }
    __syncwarp();
    if (__any_sync(whole_warp, rare_batches != 0) != 0) {
        take_rare_tiny_rows<T, Log, Most>(a, stage, rare_batches);
    }
    if (a.output != nullptr) {
        copy_from_stage<T, elements>(rows.output<T>(a), rows.count * axis, stages[warp_index()], before);
    }
}

} // namespace wr::cuda
