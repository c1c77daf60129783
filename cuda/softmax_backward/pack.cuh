// Gradients as vectors of elements: NaN among them becomes the canonical one.
#pragma once

#include "cuda/rowwise/element_patterns.cuh"
#include "cuda/softmax/outputs.cuh"

namespace wr::cuda {

// The word of two packed elements with the NaN that narrowing gives made the canonical one.
__device__ __forceinline__ unsigned canonical_nans(unsigned pair, unsigned canonical) {
    constexpr unsigned narrowed = 0x7FFF;
    pair = (pair & 0xFFFFu) == narrowed ? (pair & 0xFFFF0000u) | canonical : pair;
    return pair >> 16 == narrowed ? (pair & 0xFFFFu) | canonical << 16 : pair;
}

// Neighbouring results, NaN among them perhaps, as a vector.
__device__ __forceinline__ uint4 pack_with_nans(float *y, float) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        y[i] = is_nan(y[i]) ? __uint_as_float(canonical_nan_f32) : y[i];
    }
    return pack(y, float());
}
template <class Half>
__device__ __forceinline__ uint4 pack_with_nans(float *y, Half half) {
    constexpr unsigned canonical = std::is_same_v<Half, F16> ? 0x7E00u : 0x7FC0u;
    bool any = false;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        any = any || is_nan(y[i]);
    }
    uint4 vector = pack(y, half);
    if (any) {
        vector = {canonical_nans(vector.x, canonical), canonical_nans(vector.y, canonical),
                  canonical_nans(vector.z, canonical), canonical_nans(vector.w, canonical)};
    }
    return vector;
}

// One result as an element.
__device__ __forceinline__ float narrow_with_nan(float y, float) {
    return is_nan(y) ? __uint_as_float(canonical_nan_f32) : y;
}
template <class Half>
__device__ __forceinline__ Half narrow_with_nan(float y, Half half) {
    const Half one = narrow_one(y, half);
    return is_nan(y) ? Half{static_cast<std::uint16_t>(std::is_same_v<Half, F16> ? 0x7E00u : 0x7FC0u)} : one;
}

// Writes a vector or an element, or nothing.
__device__ __forceinline__ void store_access_if(bool wanted, uint4 *to, const uint4 &access) {
    store_vector_if(wanted, to, access);
}
template <class T>
__device__ __forceinline__ void store_access_if(bool wanted, T *to, T element) {
    PatternOf<T> pattern;
    memcpy(&pattern, &element, sizeof(T));
    store_if(wanted ? 1u : 0u, 0, reinterpret_cast<PatternOf<T> *>(to), pattern);
}

} // namespace wr::cuda
