// The largest key of vectors of elements. Of elements of 8 and 16 bits several stand in a word, and an instruction or
// two for each would be more than the memory leaves time for: they are compared by halves of words.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "numerics/operators.h"

namespace wr::cuda {

template <class T>
inline constexpr bool is_half_float = std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <class T>
inline constexpr bool is_small_float = is_half_float<T> || std::is_same_v<T, AnyFloat8>;
template <class T>
inline constexpr bool compares_by_halves =
    is_small_float<T> || std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t>;

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

// The largest of unsigned numbers of a word's size, Bytes (1 or 2) each. Of bytes, `halves` keeps the upper one of each
// half, for which the lower one does not count, and `lower` the lower ones.
template <int Bytes>
struct LargestParts {
    unsigned halves = 0, lower = 0;

    __device__ __forceinline__ void take(unsigned word) {
        if constexpr (Bytes == 1) {
            lower = larger_halves(lower, word & 0x00FF00FFu);
        }
        halves = larger_halves(halves, word);
    }
    __device__ __forceinline__ unsigned result() const {
        const unsigned half = larger(halves >> 16, halves & 0xFFFFu);
        return Bytes == 1 ? larger(half >> 8, larger(lower >> 16, lower & 0xFFFFu)) : half;
    }
};

// The magnitude beyond which an element is a NaN.
template <class T>
__device__ __forceinline__ unsigned largest_number(const Mapping &m) {
    if constexpr (std::is_same_v<T, AnyFloat8>) {
        return m.type == ElementType::f8_e4m3 ? 0x7Eu : 0x7Cu;
    } else {
        return std::is_same_v<T, BF16> ? 0x7F80u : 0x7C00u;
    }
}

// Words of elements, turned so that their keys have the order of unsigned numbers, and the largest of what has been
// taken.
template <class T>
struct LargestHalves {
    static constexpr unsigned sign = sizeof(T) == 1 ? 0x80u : 0x8000u; // of an element, and of all in a word:
    static constexpr unsigned signs_of_word = sizeof(T) == 1 ? 0x80808080u : 0x80008000u;
    using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
    unsigned turn, kept; // bits that are turned over, and that count
    LargestParts<static_cast<int>(sizeof(T))> keys, magnitudes;

    __device__ __forceinline__ explicit LargestHalves(const Mapping &m)
        : turn((m.flip & 1) != 0 ? ~0u : 0), kept(m.absolute ? ~signs_of_word : ~0u) {
        if (!is_small_float<T> && m.sign_bit != 0) {
            turn ^= signs_of_word;
        }
    }

    __device__ __forceinline__ void take(unsigned word) {
        if constexpr (is_small_float<T>) {
            word &= kept;
            magnitudes.take(word & ~signs_of_word);
            unsigned signs; // each element's everywhere in it
            asm("prmt.b32 %0, %1, 0, %2;" : "=r"(signs) : "r"(word), "n"(sizeof(T) == 1 ? 0xBA98 : 0xBB99));
            word ^= signs | signs_of_word;
        }
        keys.take(word ^ turn);
    }

    __device__ __forceinline__ std::int32_t key(const Mapping &m) const {
        const unsigned bits = keys.result() ^ turn;
        if constexpr (is_small_float<T>) {
            const T value{static_cast<Bits>((bits & sign) != 0 ? bits ^ sign : ~bits)};
            const bool nan = magnitudes.result() > largest_number<T>(m);
            return nan ? Extreme<std::int32_t>::nan_key : Extreme<std::int32_t>::map(value, m);
        } else {
            return Extreme<std::int32_t>::map(static_cast<Bits>(bits), m);
        }
    }
};
#endif

template <class T, class Key, int Vectors>
__device__ __forceinline__ Key largest_key(const uint4 (&vectors)[Vectors], const Mapping &m) {
#if __CUDA_ARCH__ >= 900
    if constexpr (compares_by_halves<T>) {
        if (!m.ignore_nan && (is_small_float<T> || !m.absolute)) {
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
