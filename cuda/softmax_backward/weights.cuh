// The weights of softmax's gradient without a branch for each.
#pragma once

#include "cuda/softmax/logits.cuh"
#include "numerics/softmax_backward.h"

namespace wr::cuda {

// weight_of_difference where |d| is not below the exponential's reach: the product overflows, or is 0.
__device__ __forceinline__ float weight_beyond_reach(float d) {
    constexpr float large = 0x1p126f;
    static_assert(ExponentialConstants<float>::reach >= 4);
    return larger_with_nan(d, 0.0f) * large;
}

// weight_of_difference of any d.
__device__ __forceinline__ float weight_of_any(float d, float rest) {
    const float within = weight_within_reach(d, rest);
    return fabsf(d) < ExponentialConstants<float>::reach ? within : weight_beyond_reach(d);
}
__device__ __forceinline__ double weight_of_any(double d, double rest) { return weight_of_difference(d, rest); }

// The weights that log-softmax's outputs logarithm(i) stand for. One branch, which is seldom taken.
template <int Count, class Logarithm>
__device__ __forceinline__ void form_weights(Logarithm logarithm, float *weights) {
    constexpr float reach = ExponentialConstants<float>::reach;
    bool within = true;
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        within = within && fabsf(logarithm(i)) < reach;
        weights[i] = scaled_exponential(logarithm(i), ExponentialConstants<float>::magic);
    }
    if (!within) {
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            weights[i] = fabsf(logarithm(i)) < reach ? weights[i] : weight_beyond_reach(logarithm(i));
        }
    }
}

// The same of logit(i), which is one of row_of(i): where that has no finite logsumexp, the difference is none either.
template <int Count, class Row, class Logit>
__device__ __forceinline__ void form_weights(Row row_of, Logit logit, float *weights) {
    constexpr float reach = ExponentialConstants<float>::reach;
    bool within = true;
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        const SavedRow<float> row = row_of(i);
        const LogitDifference<float> less = logit_difference(row.scale, row.logsumexp, logit(i));
        within = within && fabsf(less.high) < reach;
        weights[i] = weight_within_reach(less.high, less.low);
    }
    if (!within) {
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            const SavedRow<float> row = row_of(i);
            const float d = logit_difference(row.scale, row.logsumexp, logit(i)).high;
            weights[i] = fabsf(d) < reach ? weights[i] : weight_beyond_reach(d);
        }
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            const SavedRow<float> row = row_of(i);
            weights[i] = row.logsumexp - row.logsumexp != 0.0f ? row.special : weights[i];
        }
    }
}

} // namespace wr::cuda
