// Logits of 8 bits. F16 holds every value of either format exactly, and 8-bit and 16-bit elements have one arithmetic:
// kernels of F16 read them where a call says so.
#pragma once

#include "cuda/rowwise/pack.cuh"
#include "numerics/float_formats.h"
#include "numerics/problem.h"

namespace wr::cuda {

template <class T>
inline constexpr bool may_read_f8 = std::is_same_v<T, F16>;

// Two neighbours, the lower half of `pair`, as F16.
__device__ __forceinline__ unsigned halves_of_e4m3(unsigned pair) {
#if __CUDA_ARCH__ >= 890
    unsigned halves;
    asm("{\n"
        ".reg .b16 low, high;\n"
        "mov.b32 {low, high}, %1;\n"
        "cvt.rn.f16x2.e4m3x2 %0, low;\n"
        "}"
        : "=r"(halves)
        : "r"(pair));
    return halves;
#else
    return narrow_pair(widen(E4M3{static_cast<std::uint8_t>(pair)}), widen(E4M3{static_cast<std::uint8_t>(pair >> 8)}),
                       F16());
#endif
}

// Eight neighbours as a vector of F16. E5M2 is the upper half of F16.
__device__ __forceinline__ uint4 halves_of_f8(uint2 bytes, ElementType type) {
    if (type == ElementType::f8_e5m2) {
        return {__byte_perm(bytes.x, 0, 0x1404), __byte_perm(bytes.x, 0, 0x3424), __byte_perm(bytes.y, 0, 0x1404),
                __byte_perm(bytes.y, 0, 0x3424)};
    }
    return {halves_of_e4m3(bytes.x), halves_of_e4m3(bytes.x >> 16), halves_of_e4m3(bytes.y),
            halves_of_e4m3(bytes.y >> 16)};
}

// The first `count` elements of a tile, eight bytes of which lie on boundaries of eight; `behind` takes the place of
// the vectors that the lane lacks. `data` is where the tile would be if its elements were F16.
__device__ __forceinline__ void load_f8_tile(const SoftmaxArguments &a, const F16 *data, int count, uint4 behind,
                                             uint4 (&vectors)[lane_vectors<F16>]) {
    const std::ptrdiff_t first = data - static_cast<const F16 *>(a.input);
    const uint2 *mine = reinterpret_cast<const uint2 *>(static_cast<const std::uint8_t *>(a.input) + first);
    const int left = count - lane_index() * vector_elements<F16>;
    uint2 bytes[lane_vectors<F16>];
#pragma unroll
    for (int v = 0; v < lane_vectors<F16>; ++v) {
        bytes[v] = uint2{0, 0};
        if (v * warp_lanes * vector_elements<F16> < left) {
            bytes[v] = mine[v * warp_lanes + lane_index()];
        }
    }
#pragma unroll
    for (int v = 0; v < lane_vectors<F16>; ++v) {
        vectors[v] = v * warp_lanes * vector_elements<F16> < left ? halves_of_f8(bytes[v], a.input_type) : behind;
    }
}

// 32 elements of a lane, of a type that is known at run time alone: as the patterns that memory has, one bit each
// saying whether an element is read or written at all, and as floats.

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

// The unsigned type as wide as a float type other than f64.
template <class T>
using PatternOf =
    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>;

// Calls act(T()) for a float type other than f64.
template <class Act>
__device__ __forceinline__ void with_float_type(ElementType type, Act act) {
    switch (type) {
    case ElementType::f32:
        act(float());
        break;
    case ElementType::f16:
        act(F16());
        break;
    case ElementType::bf16:
        act(BF16());
        break;
    case ElementType::f8_e4m3:
        act(E4M3());
        break;
    default:
        act(E5M2());
        break;
    }
}

// What a pattern stands for.
__device__ __forceinline__ float value_of(unsigned pattern, float) { return __uint_as_float(pattern); }
template <class Half>
__device__ __forceinline__ float value_of(unsigned pattern, Half) {
    return widen(Half{static_cast<std::uint16_t>(pattern)});
}
__device__ __forceinline__ float value_of(unsigned pattern, E4M3) { return value_of(halves_of_e4m3(pattern), F16()); }
__device__ __forceinline__ float value_of(unsigned pattern, E5M2) {
    return widen(E5M2{static_cast<std::uint8_t>(pattern)});
}

// The values of patterns of any float type but f64.
__device__ __forceinline__ void widen_patterns(ElementType type, const unsigned (&patterns)[lane_patterns],
                                               float (&x)[lane_patterns]) {
    with_float_type(type, [&]<class T>(T) {
#pragma unroll
        for (int i = 0; i < lane_patterns; ++i) {
            x[i] = value_of(patterns[i], T());
        }
    });
}

// The hardware's narrowing to 8 bits keeps the largest where this library has NaN or infinity.
inline constexpr float largest_e4m3 = 464;          // that rounds to the largest, 448
inline constexpr float least_infinite_e5m2 = 61440; // that rounds to infinity

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
__device__ __forceinline__ unsigned pattern_of(float y, E4M3) {
    return fabsf(y) <= largest_e4m3 ? narrow_one(y, E4M3()).bits : canonical_nan_e4m3;
}
__device__ __forceinline__ unsigned pattern_of(float y, E5M2) {
    const unsigned infinity = y > 0 ? 0x7Cu : 0xFCu;
    return fabsf(y) < least_infinite_e5m2 ? narrow_one(y, E5M2()).bits : is_nan(y) ? canonical_nan_e5m2 : infinity;
}

// Behind a call: seldom wanted.
__device__ __noinline__ inline void narrow_unusual(ElementType type, const float *y, unsigned *patterns) {
    with_float_type(type, [&]<class T>(T) {
#pragma unroll 1
        for (int i = 0; i < lane_patterns; ++i) {
            patterns[i] = pattern_of(y[i], T());
        }
    });
}

// Whether the hardware's narrowing gives what pattern_of does.
template <class T>
__device__ __forceinline__ bool is_usual(float y, T) {
    return !is_nan(y);
}
__device__ __forceinline__ bool is_usual(float y, E4M3) { return fabsf(y) <= largest_e4m3; }
__device__ __forceinline__ bool is_usual(float y, E5M2) { return fabsf(y) < least_infinite_e5m2; }

// The patterns of usual results. Of narrow ones several are made at a time, so that bits above a pattern may be set.
template <class T>
__device__ __forceinline__ void narrow_usual(const float (&y)[lane_patterns], unsigned (&patterns)[lane_patterns]) {
    constexpr int run = 4, bytes = static_cast<int>(sizeof(T)), word_bytes = 4;
#pragma unroll
    for (int first = 0; first < lane_patterns; first += run) {
        const RunWords<T, run> words(y + first);
#pragma unroll
        for (int i = 0; i < run; ++i) {
            patterns[first + i] = words.of[i * bytes / word_bytes] >> (i * bytes % word_bytes * 8);
        }
    }
}

// The patterns of results, of any float type but f64, for stores of its size.
__device__ __forceinline__ void narrow_patterns(ElementType type, const float (&y)[lane_patterns],
                                                unsigned (&patterns)[lane_patterns]) {
    bool usual = true;
    with_float_type(type, [&]<class T>(T) {
#pragma unroll
        for (int i = 0; i < lane_patterns; ++i) {
            usual = usual & is_usual(y[i], T());
        }
        narrow_usual<T>(y, patterns);
    });
    if (__all_sync(whole_warp, usual) == 0) {
        float called_with[lane_patterns]; // what a call is given lies in memory, where y would be slow
        unsigned returned[lane_patterns];
#pragma unroll
        for (int i = 0; i < lane_patterns; ++i) {
            called_with[i] = y[i];
        }
        narrow_unusual(type, called_with, returned);
#pragma unroll
        for (int i = 0; i < lane_patterns; ++i) {
            patterns[i] = returned[i];
        }
    }
}

} // namespace wr::cuda
