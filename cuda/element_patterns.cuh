// 32 elements of a lane, of a type that is known at run time alone: as the patterns that memory has, one bit each saying
// whether an element is read or written at all, and as floats.
#pragma once

#include "cuda/softmax_packing.cuh"
#include "numerics/float_formats.h"
#include "numerics/problem.h"

namespace wr::cuda {

inline constexpr int lane_patterns = 32;

// The pattern at `from` where bit `number` is set, else 0; and its way back. By a predicate: where lanes might part
// ptxas writes every shuffle that follows twice, once for lanes that are not together.
__device__ __forceinline__ unsigned load_if(unsigned bits, int number, const std::uint32_t *from) {
    unsigned pattern;
    asm volatile("{\n.reg .pred p;\n.reg .b32 bit;\nand.b32 bit, %2, %3;\nsetp.ne.u32 p, bit, 0;\nmov.u32 %0, 0;\n"
                 "@p ld.global.u32 %0, [%1];\n}"
                 : "=r"(pattern)
                 : "l"(from), "r"(bits), "r"(1u << number));
    return pattern;
}
__device__ __forceinline__ unsigned load_if(unsigned bits, int number, const std::uint16_t *from) {
    unsigned short pattern;
    asm volatile("{\n.reg .pred p;\n.reg .b32 bit;\nand.b32 bit, %2, %3;\nsetp.ne.u32 p, bit, 0;\nmov.u16 %0, 0;\n"
                 "@p ld.global.u16 %0, [%1];\n}"
                 : "=h"(pattern)
                 : "l"(from), "r"(bits), "r"(1u << number));
    return pattern;
}
__device__ __forceinline__ unsigned load_if(unsigned bits, int number, const std::uint8_t *from) {
    unsigned pattern;
    asm volatile("{\n.reg .pred p;\n.reg .b32 bit;\nand.b32 bit, %2, %3;\nsetp.ne.u32 p, bit, 0;\nmov.u32 %0, 0;\n"
                 "@p ld.global.u8 %0, [%1];\n}"
                 : "=r"(pattern)
                 : "l"(from), "r"(bits), "r"(1u << number));
    return pattern;
}
__device__ __forceinline__ double load_if(unsigned bits, int number, const double *from) {
    double value;
    asm volatile("{\n.reg .pred p;\n.reg .b32 bit;\nand.b32 bit, %2, %3;\nsetp.ne.u32 p, bit, 0;\n"
                 "mov.f64 %0, 0d0000000000000000;\n@p ld.global.f64 %0, [%1];\n}"
                 : "=d"(value)
                 : "l"(from), "r"(bits), "r"(1u << number));
    return value;
}
__device__ __forceinline__ void store_if(unsigned bits, int number, std::uint32_t *to, unsigned pattern) {
    asm volatile("{\n.reg .pred p;\n.reg .b32 bit;\nand.b32 bit, %2, %3;\nsetp.ne.u32 p, bit, 0;\n"
                 "@p st.global.u32 [%0], %1;\n}" ::"l"(to),
                 "r"(pattern), "r"(bits), "r"(1u << number)
                 : "memory");
}
__device__ __forceinline__ void store_if(unsigned bits, int number, std::uint16_t *to, unsigned pattern) {
    asm volatile("{\n.reg .pred p;\n.reg .b32 bit;\nand.b32 bit, %2, %3;\nsetp.ne.u32 p, bit, 0;\n"
                 "@p st.global.u16 [%0], %1;\n}" ::"l"(to),
                 "h"(static_cast<unsigned short>(pattern)), "r"(bits), "r"(1u << number)
                 : "memory");
}
__device__ __forceinline__ void store_if(unsigned bits, int number, std::uint8_t *to, unsigned pattern) {
    asm volatile("{\n.reg .pred p;\n.reg .b32 bit;\nand.b32 bit, %2, %3;\nsetp.ne.u32 p, bit, 0;\n"
                 "@p st.global.u8 [%0], %1;\n}" ::"l"(to),
                 "r"(pattern), "r"(bits), "r"(1u << number)
                 : "memory");
}
__device__ __forceinline__ void store_if(unsigned bits, int number, double *to, double value) {
    asm volatile("{\n.reg .pred p;\n.reg .b32 bit;\nand.b32 bit, %2, %3;\nsetp.ne.u32 p, bit, 0;\n"
                 "@p st.global.f64 [%0], %1;\n}" ::"l"(to),
                 "d"(value), "r"(bits), "r"(1u << number)
                 : "memory");
}

// Those of bits 0 to 31 whose number passes the test.
template <class Test>
__device__ __forceinline__ unsigned bits_where(Test test) {
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < lane_patterns; ++i) {
        bits |= test(i) ? 1u << i : 0u;
    }
    asm("" : "+r"(bits)); // else the compiler keeps what every bit was made from
    return bits;
}

// Calls act(Pattern) with the unsigned type as wide as elements of this type, which are not f64.
template <class Act>
__device__ __forceinline__ void with_pattern_of(ElementType type, Act act) {
    switch (traits_of(type).size) {
    case 4:
        act(std::uint32_t());
        break;
    case 2:
        act(std::uint16_t());
        break;
    default:
        act(std::uint8_t());
        break;
    }
}

template <class Widen>
__device__ __forceinline__ void widen_patterns_by(const unsigned (&patterns)[lane_patterns], float (&x)[lane_patterns],
                                                  Widen widen) {
#pragma unroll
    for (int i = 0; i < lane_patterns; ++i) {
        x[i] = widen(patterns[i]);
    }
}

// The values of patterns of any float type but f64.
__device__ __forceinline__ void widen_patterns(ElementType type, const unsigned (&patterns)[lane_patterns],
                                               float (&x)[lane_patterns]) {
    switch (type) {
    case ElementType::f32:
        widen_patterns_by(patterns, x, [](unsigned pattern) { return __uint_as_float(pattern); });
        break;
    case ElementType::f16:
        widen_patterns_by(patterns, x,
                          [](unsigned pattern) { return widen(F16{static_cast<std::uint16_t>(pattern)}); });
        break;
    case ElementType::bf16:
        widen_patterns_by(patterns, x,
                          [](unsigned pattern) { return widen(BF16{static_cast<std::uint16_t>(pattern)}); });
        break;
    case ElementType::f8_e4m3:
        widen_patterns_by(patterns, x,
                          [](unsigned pattern) { return widen(E4M3{static_cast<std::uint8_t>(pattern)}); });
        break;
    default:
        widen_patterns_by(patterns, x,
                          [](unsigned pattern) { return widen(E5M2{static_cast<std::uint8_t>(pattern)}); });
        break;
    }
}

// The pattern of a result, NaN or of any size perhaps, rounded once.
__device__ __forceinline__ unsigned pattern_of(float y, float) {
    return is_nan(y) ? canonical_nan_f32 : __float_as_uint(y);
}
__device__ __forceinline__ unsigned pattern_of(float y, F16) {
    return is_nan(y) ? canonical_nan_f16 : narrow_one(y, F16()).bits;
}
__device__ __forceinline__ unsigned pattern_of(float y, BF16) {
    return is_nan(y) ? canonical_nan_bf16 : narrow_one(y, BF16()).bits;
}
// The hardware's narrowing to 8 bits keeps the largest where this library has NaN or infinity.
__device__ __forceinline__ unsigned pattern_of(float y, E4M3) {
    constexpr float most = 464; // that rounds to the largest, 448
    return fabsf(y) <= most ? narrow_one(y, E4M3()).bits : canonical_nan_e4m3;
}
__device__ __forceinline__ unsigned pattern_of(float y, E5M2) {
    constexpr float least = 61440; // that rounds to infinity
    const unsigned infinity = y > 0 ? 0x7Cu : 0xFCu;
    return fabsf(y) < least ? narrow_one(y, E5M2()).bits : is_nan(y) ? canonical_nan_e5m2 : infinity;
}

template <class T>
__device__ __forceinline__ void narrow_patterns_as(const float (&y)[lane_patterns],
                                                   unsigned (&patterns)[lane_patterns]) {
#pragma unroll
    for (int i = 0; i < lane_patterns; ++i) {
        patterns[i] = pattern_of(y[i], T());
    }
}

// The patterns of results, of any float type but f64.
__device__ __forceinline__ void narrow_patterns(ElementType type, const float (&y)[lane_patterns],
                                                unsigned (&patterns)[lane_patterns]) {
    switch (type) {
    case ElementType::f32:
        narrow_patterns_as<float>(y, patterns);
        break;
    case ElementType::f16:
        narrow_patterns_as<F16>(y, patterns);
        break;
    case ElementType::bf16:
        narrow_patterns_as<BF16>(y, patterns);
        break;
    case ElementType::f8_e4m3:
        narrow_patterns_as<E4M3>(y, patterns);
        break;
    default:
        narrow_patterns_as<E5M2>(y, patterns);
        break;
    }
}

} // namespace wr::cuda
