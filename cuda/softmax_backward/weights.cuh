// The weights of softmax's gradient without a branch.
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

} // namespace wr::cuda
