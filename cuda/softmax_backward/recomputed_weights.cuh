// The weights that logits stand for in the gradient of softmax, in registers or in shared memory.
#pragma once

#include "cuda/softmax_backward/load.cuh"
#include "cuda/softmax_backward/weights.cuh"

namespace wr::cuda {

// Those of a lane's neighbours from element `first` on, of a row that has a finite logsumexp. One branch, which is
// seldom taken.
template <class T>
__device__ __forceinline__ void form_run(const BackwardVectors<T> &logits, const SavedRow<float> &row, int first,
                                         float *weights) {
    constexpr int run = VectorLoad<T>::run;
    constexpr float reach = ExponentialConstants<float>::reach;
    bool within = true;
#pragma unroll
    for (int i = 0; i < run; ++i) {
        const LogitDifference<float> less = logit_difference(row.scale, row.logsumexp, logits[first + i]);
        within = within && fabsf(less.high) < reach;
        weights[i] = weight_within_reach(less.high, less.low);
    }
    if (!within) {
#pragma unroll
        for (int i = 0; i < run; ++i) {
            const float d = logit_difference(row.scale, row.logsumexp, logits[first + i]).high;
            weights[i] = fabsf(d) < reach ? weights[i] : weight_beyond_reach(d);
        }
    }
}

// In registers.
template <class T>
struct FormedWeights {
    static constexpr int run = VectorLoad<T>::run;
    float of[lane_elements];

    // What stands behind the end of the row becomes -0.
    __device__ __forceinline__ void form(const BackwardVectors<T> &logits, const SavedRow<float> &row, int count) {
#pragma unroll
        for (int first = 0; first < lane_elements; first += run) {
            form_run(logits, row, first, of + first);
        }
        if (row.logsumexp - row.logsumexp != 0.0f) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                of[i] = row.special;
            }
        }
        if (count < static_cast<int>(softmax_block)) {
            const int left = count - lane_index() * run;
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                of[i] = i / run * warp_lanes * run + i % run < left ? of[i] : -0.0f;
            }
        }
    }

    // Those of vector v, of a row of its own; -0 where there is none.
    __device__ __forceinline__ void form_vector(const BackwardVectors<T> &logits, const SavedRow<float> &row, int v,
                                                bool filled) {
        form_run(logits, row, v * run, of + v * run);
        if (row.logsumexp - row.logsumexp != 0.0f) {
#pragma unroll
            for (int i = 0; i < run; ++i) {
                of[v * run + i] = row.special;
            }
        }
#pragma unroll
        for (int i = 0; i < run; ++i) {
            of[v * run + i] = filled ? of[v * run + i] : -0.0f;
        }
    }

    __device__ __forceinline__ float operator[](int i) const { return of[i]; }

    __device__ __forceinline__ const float *of_vector(int v) const { return of + v * run; }
};

// In shared memory while the row's sum is put together, so that a lane needs 32 registers less.
template <class T>
struct BufferedWeights {
    static constexpr int run = VectorLoad<T>::run, quads = run / 4; // of a vector

    float4 *own; // the lane's first four, of backward_buffer_bytes that its warp has

    // Of the block's warps, a row of them after the other.
    __device__ __forceinline__ static BufferedWeights of_warp(unsigned char *memory) {
        const unsigned warp = threadIdx.y * (blockDim.x / warp_lanes) + threadIdx.x / warp_lanes;
        return {reinterpret_cast<float4 *>(memory + warp * backward_buffer_bytes) + lane_index()};
    }

    // Those of vector v; -0 from the lane's element number `left` on.
    __device__ __forceinline__ void form(const BackwardVectors<T> &logits, const SavedRow<float> &row, int v, int left,
                                         float (&weights)[run]) const {
        form_run(logits, row, v * run, weights);
        if (row.logsumexp - row.logsumexp != 0.0f) {
#pragma unroll
            for (float &one : weights) {
                one = row.special;
            }
        }
        if (left < run) {
#pragma unroll
            for (int i = 0; i < run; ++i) {
                weights[i] = i < left ? weights[i] : -0.0f;
            }
        }
#pragma unroll
        for (int q = 0; q < quads; ++q) {
            own[(v * quads + q) * warp_lanes] = {weights[4 * q], weights[4 * q + 1], weights[4 * q + 2],
                                                 weights[4 * q + 3]};
        }
    }

    struct Vector {
        float4 four[quads];

        __device__ __forceinline__ float operator[](int i) const {
            const float4 own = four[i / 4];
            return i % 4 == 0 ? own.x : i % 4 == 1 ? own.y : i % 4 == 2 ? own.z : own.w;
        }
    };
    __device__ __forceinline__ Vector of_vector(int v) const {
        Vector taken;
#pragma unroll
        for (int q = 0; q < quads; ++q) {
            taken.four[q] = own[(v * quads + q) * warp_lanes];
        }
        return taken;
    }
};

} // namespace wr::cuda
