// Outputs as elements: pairs, vectors, one at a time.
#pragma once

#include "cuda/softmax_access.cuh"

namespace wr::cuda {

__device__ __forceinline__ unsigned narrow_pair(float low, float high, F16) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
__device__ __forceinline__ unsigned narrow_pair(float low, float high, BF16) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

// Some neighbouring values as elements of T, packed into a vector. None of them is NaN.
__device__ __forceinline__ uint4 pack(const float *y, float) {
    return {__float_as_uint(y[0]), __float_as_uint(y[1]), __float_as_uint(y[2]), __float_as_uint(y[3])};
}
__device__ __forceinline__ uint4 pack(const double *y, double) {
    uint4 vector;
    memcpy(&vector, y, sizeof(vector));
    return vector;
}
template <class Half>
__device__ __forceinline__ uint4 pack(const float *y, Half h) {
    return {narrow_pair(y[0], y[1], h), narrow_pair(y[2], y[3], h), narrow_pair(y[4], y[5], h),
            narrow_pair(y[6], y[7], h)};
}

__device__ __forceinline__ float narrow_one(float y, float) { return y; }
__device__ __forceinline__ double narrow_one(double y, double) { return y; }
template <class Half>
__device__ __forceinline__ Half narrow_one(float y, Half h) {
    return Half{static_cast<std::uint16_t>(narrow_pair(y, y, h))};
}

template <class Float>
__device__ __noinline__ void store_any(Float value, ElementType type, void *output, std::size_t index) {
    store_float(value, type, output, index);
}

template <class T>
struct ElementTypeOf;
template <>
struct ElementTypeOf<float> {
    static constexpr ElementType type = ElementType::f32;
};
template <>
struct ElementTypeOf<double> {
    static constexpr ElementType type = ElementType::f64;
};
template <>
struct ElementTypeOf<F16> {
    static constexpr ElementType type = ElementType::f16;
};
template <>
struct ElementTypeOf<BF16> {
    static constexpr ElementType type = ElementType::bf16;
};

} // namespace wr::cuda
