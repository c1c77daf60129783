// Tiles at any address, read by whole vectors.
#pragma once

#include "cuda/rowwise/unaligned_vectors.cuh"
#include "cuda/softmax/partial_tile.cuh"
#include "cuda/softmax/ragged/rows.h"

namespace wr::cuda {

// Vectors on their boundaries for blocks that lie at any address. What stands behind a block's end is anything at all.
template <class T>
struct RealignedLoad : VectorLoad<T> {
    static constexpr bool realigned = true;
};

// The same with outputs of another type than the input.
template <class T>
struct ConvertingRealignedLoad : RealignedLoad<T> {
    static constexpr bool converted = true;
};

// The same elements one at a time.
template <class T>
struct RaggedSingles : StridedLoad<T> {
    static constexpr bool masked = true;
};

// The mask's byte for the logit at `data`: outputs and mask lie as the input does.
template <class T>
__device__ __forceinline__ const std::uint8_t *mask_at(const RaggedSoftmaxArguments &a, const T *data) {
    return a.selection.mask + (data - static_cast<const T *>(a.input));
}

// Of a lane's vectors those elements that the mask leaves out become -infinity, once they are scaled.
template <class T>
__device__ __forceinline__ void leave_out_of_vectors(const RaggedSoftmaxArguments &a, const T *data, int count,
                                                     uint4 (&vectors)[lane_vectors<T>]) {
    constexpr int each = vector_elements<T>;
    const std::uint8_t *mask = mask_at(a, data) + lane_index() * each;
    const int left = count - lane_index() * each;
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        T elements[each];
        memcpy(elements, vectors + v, sizeof(uint4));
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const int at = v * warp_lanes * each + i;
            if (at < left && mask[at] == 0) {
                elements[i] = filler<T>(a.scale < 0);
            }
        }
        memcpy(vectors + v, elements, sizeof(uint4));
    }
}

// Likewise of a lane's elements one at a time.
template <class T, class Load>
    requires Load::masked
__device__ __forceinline__ void leave_out(const SoftmaxArguments &arguments, const T *data, int count,
                                          T (&x)[lane_elements]) {
    const auto &a = static_cast<const RaggedSoftmaxArguments &>(arguments);
    if (a.selection.mask != nullptr) {
        leave_out_of_singles(mask_at(a, data), count, a.scale < 0, x);
    }
}

} // namespace wr::cuda
