// A warp's tile of outputs, logits or gradients in the gradient of softmax, as it was loaded.
#pragma once

#include "cuda/rowwise/unaligned_vectors.cuh"
#include "cuda/softmax_backward/rows.h"

namespace wr::cuda {

// A lane's elements of a tile, as they lie in memory.
template <class T>
struct BackwardVectors {
    using Load = VectorLoad<T>;
    uint4 vectors[lane_vectors<T>];

    // What stands behind the end of a row is `behind` over and over.
    __device__ __forceinline__ void load(const T *data, int count, unsigned behind) {
        const uint4 *mine = reinterpret_cast<const uint4 *>(data) + lane_index();
        const int left = count / vector_elements<T> - lane_index();
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = uint4{behind, behind, behind, behind};
            if (v * warp_lanes < left) {
                vectors[v] = load_vector(mine + v * warp_lanes);
            }
        }
    }

    // The same of elements anywhere, which have been asked for.
    __device__ __forceinline__ void realign(VectorsAround<T> &around, int count, unsigned behind) {
        constexpr int elements = vector_elements<T>;
        around.realign();
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = around.own[v];
        }
        if (count < static_cast<int>(softmax_block)) {
#pragma unroll
            for (int v = 0; v < lane_vectors<T>; ++v) {
                const int left = count - (v * warp_lanes + lane_index()) * elements;
                T kept[elements];
                memcpy(kept, vectors + v, sizeof(uint4));
#pragma unroll
                for (int i = 0; i < elements; ++i) {
                    if (i >= left) {
                        memcpy(kept + i, &behind, sizeof(T));
                    }
                }
                memcpy(vectors + v, kept, sizeof(uint4));
            }
        }
    }

    // Vector v, of whose elements this widens one.
    struct Vector {
        const BackwardVectors &all;
        int first;

        __device__ __forceinline__ float operator[](int i) const { return all[first + i]; }
    };
    __device__ __forceinline__ Vector of_vector(int v) const { return {*this, v * Load::run}; }

    __device__ __forceinline__ float operator[](int i) const {
        const uint4 vector = vectors[i / Load::run];
        const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
        if constexpr (sizeof(T) == 4) {
            return __uint_as_float(words[i % 4]);
        } else {
            return widen(T{static_cast<std::uint16_t>(words[i % 8 / 2] >> (i % 2 * 16))});
        }
    }
};

// What stands behind the end of a row, over and over: of outputs or logits, and of their gradients. Terms are -0 there:
// -0 times 0, or gradients of -0.
template <class T>
inline constexpr unsigned minus_zeros = sizeof(T) == 4 ? 0x80000000u : 0x80008000u;
template <class T>
__device__ __forceinline__ unsigned gradients_behind(const BackwardVectorArguments &a) {
    return a.log ? minus_zeros<T> : 0u;
}

} // namespace wr::cuda
