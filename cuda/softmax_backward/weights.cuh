// The weights of softmax's gradient without a branch for each.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/softmax/logits.cuh"
#include "cuda/softmax_backward/load.cuh"
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

// The weights that logits stand for in the gradient of softmax, in registers or in shared memory.

// Those of one access to a row's logits, of which `left` are there; the others' are -0.
template <int Run, class Logits>
__device__ __forceinline__ void form_run(const Logits &logits, const SavedRow<float> &row, int left, float *weights) {
    form_weights<Run>([&](int) { return row; }, [&](int i) { return logits[i]; }, weights);
    if (left < Run) {
#pragma unroll
        for (int i = 0; i < Run; ++i) {
            weights[i] = i < left ? weights[i] : -0.0f;
        }
    }
}

// In registers.
template <class Part>
struct FormedWeights {
    float of[Part::elements];

    __device__ __forceinline__ float operator[](int i) const { return of[i]; }

    __device__ __forceinline__ const float *of_access(int v) const { return of + v * Part::run; }
};

// In shared memory while the row's sum is put together, so that a lane needs 32 registers less.
template <class Part>
struct BufferedWeights {
    static constexpr int quads = Part::run / 4; // of an access

    float4 *own; // the lane's first four, of backward_buffer_bytes of the launch that its warp has

    // Of the block's warps, a row of them after the other.
    __device__ __forceinline__ BufferedWeights() {
        const unsigned warp = threadIdx.y * (blockDim.x / warp_lanes) + threadIdx.x / warp_lanes;
        own = reinterpret_cast<float4 *>(launched_memory() + warp * backward_buffer_bytes) + lane_index();
    }

    // Those of access v.
    __device__ __forceinline__ void keep(int v, const float (&weights)[Part::run]) const {
#pragma unroll
        for (int q = 0; q < quads; ++q) {
            own[(v * quads + q) * warp_lanes] = {weights[4 * q], weights[4 * q + 1], weights[4 * q + 2],
                                                 weights[4 * q + 3]};
        }
    }

    struct Run {
        float4 four[quads];

        __device__ __forceinline__ float operator[](int i) const {
            const float4 own = four[i / 4];
            return i % 4 == 0 ? own.x : i % 4 == 1 ? own.y : i % 4 == 2 ? own.z : own.w;
        }
    };
    __device__ __forceinline__ Run of_access(int v) const {
        Run taken;
#pragma unroll
        for (int q = 0; q < quads; ++q) {
            taken.four[q] = own[(v * quads + q) * warp_lanes];
        }
        return taken;
    }
};

} // namespace wr::cuda
