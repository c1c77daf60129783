// Outputs as elements: pairs, vectors, one at a time.
#pragma once

#include "cuda/rowwise/vector_access.cuh"

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

// Four neighbouring values as elements of 8 bits, none of them NaN or beyond the largest: there the hardware's
// narrowing keeps the largest where this library has infinity or NaN.
__device__ __forceinline__ unsigned quad_of(const float *y, FloatFormat format) {
    return narrow(y[0], format) | narrow(y[1], format) << 8 | narrow(y[2], format) << 16 | narrow(y[3], format) << 24;
}
__device__ __forceinline__ unsigned narrow_quad(const float *y, E4M3) {
#if __CUDA_ARCH__ >= 890
    unsigned quad;
    asm("{\n"
        ".reg .b16 low, high;\n"
        "cvt.rn.satfinite.e4m3x2.f32 low, %2, %1;\n"
        "cvt.rn.satfinite.e4m3x2.f32 high, %4, %3;\n"
        "mov.b32 %0, {low, high};\n"
        "}"
        : "=r"(quad)
        : "f"(y[0]), "f"(y[1]), "f"(y[2]), "f"(y[3]));
    return quad;
#else
    return quad_of(y, format_e4m3);
#endif
}
__device__ __forceinline__ unsigned narrow_quad(const float *y, E5M2) {
#if __CUDA_ARCH__ >= 890
    unsigned quad;
    asm("{\n"
        ".reg .b16 low, high;\n"
        "cvt.rn.satfinite.e5m2x2.f32 low, %2, %1;\n"
        "cvt.rn.satfinite.e5m2x2.f32 high, %4, %3;\n"
        "mov.b32 %0, {low, high};\n"
        "}"
        : "=r"(quad)
        : "f"(y[0]), "f"(y[1]), "f"(y[2]), "f"(y[3]));
    return quad;
#else
    return quad_of(y, format_e5m2);
#endif
}

// The words of some neighbouring values as elements of To.
template <class To, int Values>
struct RunWords {
    static constexpr int words = Values * static_cast<int>(sizeof(To)) / 4;
    unsigned of[words];

    __device__ __forceinline__ explicit RunWords(const float *y) {
#pragma unroll
        for (int i = 0; i < words; ++i) {
            if constexpr (sizeof(To) == 4) {
                of[i] = __float_as_uint(y[i]);
            } else if constexpr (sizeof(To) == 2) {
                of[i] = narrow_pair(y[2 * i], y[2 * i + 1], To());
            } else {
                of[i] = narrow_quad(y + 4 * i, To());
            }
        }
    }
};

__device__ __forceinline__ float narrow_one(float y, float) { return y; }
__device__ __forceinline__ double narrow_one(double y, double) { return y; }
template <class Narrow>
__device__ __forceinline__ Narrow narrow_one(float y, Narrow narrow) {
    if constexpr (sizeof(Narrow) == 1) {
        const float four[4] = {y, y, y, y};
        return Narrow{static_cast<std::uint8_t>(narrow_quad(four, narrow))};
    } else {
        return Narrow{static_cast<std::uint16_t>(narrow_pair(y, y, narrow))};
    }
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
template <>
struct ElementTypeOf<E4M3> {
    static constexpr ElementType type = ElementType::f8_e4m3;
};
template <>
struct ElementTypeOf<E5M2> {
    static constexpr ElementType type = ElementType::f8_e5m2;
};

} // namespace wr::cuda
