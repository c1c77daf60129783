// The largest key of vectors of elements. Of elements of 8 and 16 bits several stand in a word, and an instruction or
// two for each would be more than the memory leaves time for: they are compared by halves of words.
#pragma once

#include "cuda/device_code.cuh"
#include "numerics/operators.h"

namespace wr::cuda {

template <class T>
inline constexpr bool is_half_float = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <class T>
inline constexpr bool compares_by_halves =
    is_half_float<T> || std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t>;

template <class T, class Key, int Vectors>
__device__ __forceinline__ Key largest_key_one_by_one(const uint4 (&vectors)[Vectors], const Mapping &m) {
    constexpr int elements = static_cast<int>(sizeof(uint4) / sizeof(T));
    Key key = Extreme<Key>::identity();
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
        T raw[elements];
        memcpy(raw, &vectors[v], sizeof(uint4));
#pragma unroll
        for (int e = 0; e < elements; ++e) {
            key = larger(key, Extreme<Key>::map(raw[e], m));
        }
    }
    return key;
}

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned larger_halves(unsigned a, unsigned b) {
    unsigned result;
    asm("max.u16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    return result;
}

// Words of elements, turned so that their keys have the order of unsigned numbers, and the largest of what has been
// taken. Of bytes, `halves` keeps the upper one of each half, for which the lower one does not count, and `lower` the
// lower ones.
template <class T>
struct LargestHalves {
    unsigned turn, halves = 0, lower = 0, magnitudes = 0;

    __device__ __forceinline__ explicit LargestHalves(const Mapping &m) : turn((m.flip & 1) != 0 ? ~0u : 0) {
        if (!is_half_float<T> && m.sign_bit != 0) {
            turn ^= sizeof(T) == 1 ? 0x80808080u : 0x80008000u;
        }
    }

    __device__ __forceinline__ void take(unsigned word) {
        unsigned turned = word ^ turn;
        if constexpr (is_half_float<T>) {
            unsigned signs; // the upper bit of each half everywhere in it
            asm("prmt.b32 %0, %1, 0, 0xBB99;" : "=r"(signs) : "r"(word));
            turned ^= signs | 0x80008000u;
            magnitudes = larger_halves(magnitudes, word & 0x7FFF7FFFu);
        }
        if constexpr (sizeof(T) == 1) {
            lower = larger_halves(lower, turned & 0x00FF00FFu);
        }
        halves = larger_halves(halves, turned);
    }

    __device__ __forceinline__ std::int32_t key(const Mapping &m) const {
        const unsigned half = larger(halves >> 16, halves & 0xFFFFu);
        if constexpr (sizeof(T) == 1) {
            const unsigned byte = larger(half >> 8, larger(lower >> 16, lower & 0xFFFFu));
            return Extreme<std::int32_t>::map(static_cast<std::uint8_t>(byte ^ turn), m);
        } else if constexpr (is_half_float<T>) {
            constexpr unsigned infinity = std::is_same_v<T, BF16> ? 0x7F80u : 0x7C00u;
            const unsigned bits = half ^ turn;
            const T value{static_cast<std::uint16_t>((bits & 0x8000u) != 0 ? bits ^ 0x8000u : ~bits)};
            const bool nan = larger(magnitudes >> 16, magnitudes & 0xFFFFu) > infinity;
            return nan ? Extreme<std::int32_t>::nan_key : Extreme<std::int32_t>::map(value, m);
        } else {
            return Extreme<std::int32_t>::map(static_cast<std::uint16_t>(half ^ turn), m);
        }
    }
};
#endif

template <class T, class Key, int Vectors>
__device__ __forceinline__ Key largest_key(const uint4 (&vectors)[Vectors], const Mapping &m) {
#if __CUDA_ARCH__ >= 900
    if constexpr (compares_by_halves<T>) {
        if (!m.ignore_nan && !m.absolute) {
            LargestHalves<T> largest(m);
#pragma unroll
            for (int v = 0; v < Vectors; ++v) {
                largest.take(vectors[v].x);
                largest.take(vectors[v].y);
                largest.take(vectors[v].z);
                largest.take(vectors[v].w);
            }
            return largest.key(m);
        }
    }
#endif
    return largest_key_one_by_one<T, Key>(vectors, m);
}

} // namespace wr::cuda
