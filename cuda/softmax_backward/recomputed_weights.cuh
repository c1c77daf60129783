// The weights that logits stand for in the gradient of softmax, in registers or in shared memory.
#pragma once

#include "cuda/device/dynamic_shared_memory.cuh"
#include "cuda/softmax_backward/load.cuh"
#include "cuda/softmax_backward/weights.cuh"

namespace wr::cuda {

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
