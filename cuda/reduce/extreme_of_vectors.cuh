// The largest key of vectors of elements. To make a key of each and to compare that would be more than the memory
// leaves time for: floats of 16 and 32 bits are compared by the hardware's maximum, which has the order of keys but for
// the NaNs that are ignored, and elements of 8 bits and integers of 16 by halves of words.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "numerics/operators.h"

#include <cuda_fp16.h>

namespace wr::cuda {

template <class T>
inline constexpr bool has_float_maximum = std::is_same_v<T, float> || std::is_same_v<T, F16> || std::is_same_v<T, BF16>;
template <class T>
inline constexpr bool compares_by_halves =
    std::is_same_v<T, AnyFloat8> || std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t>;
template <class T>
inline constexpr bool compares_by_words = has_float_maximum<T> || compares_by_halves<T>;

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

// The elements of words, compared word by word: what has been taken, at least one, and its keys.
template <class T>
class LargestOfWords;

// Of two floats each, or of one: NaN is larger than all, and -0 below +0.
__device__ __forceinline__ unsigned larger_floats(unsigned a, unsigned b, float) {
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(__uint_as_float(a)), "f"(__uint_as_float(b)));
    return __float_as_uint(result);
}
__device__ __forceinline__ unsigned larger_floats(unsigned a, unsigned b, F16) {
    unsigned result;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    return result;
}
__device__ __forceinline__ unsigned larger_floats(unsigned a, unsigned b, BF16) {
    unsigned result;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(result) : "r"(a), "r"(b));
    return result;
}

template <class T>
    requires has_float_maximum<T>
class LargestOfWords<T> {
  public:
    static constexpr bool is_single = sizeof(T) == sizeof(unsigned);
    static constexpr unsigned signs = is_single ? 0x80000000u : 0x80008000u;
    static constexpr unsigned lowest = is_single ? 0xFF800000u : std::is_same_v<T, F16> ? 0xFC00FC00u : 0xFF80FF80u;

    LargestOfWords() = default;
    __device__ __forceinline__ explicit LargestOfWords(const Mapping &m)
        : turn_((m.flip & 1) != 0 ? signs : 0), kept_(m.absolute ? ~signs : ~0u) {}

    __device__ __forceinline__ static bool suits(const Mapping &m) { return !m.ignore_nan; }

    __device__ __forceinline__ void take(unsigned word) { largest_ = larger_floats(largest_, turned(word), T()); }
    // What no element is below, once it is turned.
    __device__ __forceinline__ unsigned lowest_word() const { return (kept_ & signs) != 0 ? lowest ^ turn_ : 0; }

    __device__ __forceinline__ std::int32_t key(const Mapping &m) const {
        if constexpr (is_single) {
            return key_of(0, m);
        } else {
            return key_of_bits(larger_floats(largest_, largest_ >> 16, T()), m);
        }
    }
    // Of the elements in place number `part` of their words.
    __device__ __forceinline__ std::int32_t key_of(int part, const Mapping &m) const {
        return key_of_bits(largest_ >> (16 * part), m);
    }

  private:
    __device__ __forceinline__ unsigned turned(unsigned word) const { return (word & kept_) ^ turn_; }
    __device__ __forceinline__ std::int32_t key_of_bits(unsigned bits, const Mapping &m) const {
        bits ^= turn_;
        if constexpr (is_single) {
            return Extreme<std::int32_t>::map(__uint_as_float(bits), m);
        } else {
            return Extreme<std::int32_t>::map(T{static_cast<std::uint16_t>(bits)}, m);
        }
    }

    unsigned turn_, kept_, largest_ = lowest;
};

// Whether an element is the number that has a key: its bits say it.
template <class T>
class HasBitsOfKey {
  public:
    __device__ __forceinline__ HasBitsOfKey(std::int32_t key, const Mapping &m)
        : kept_(m.absolute ? ~LargestOfWords<T>::signs : ~0u) {
        const float value = value_of_key(key ^ static_cast<std::int32_t>(m.flip));
        if constexpr (std::is_same_v<T, F16>) {
            bits_ = __half_as_ushort(__float2half_rn(value));
        } else {
            bits_ = __float_as_uint(value) >> (std::is_same_v<T, BF16> ? 16 : 0);
        }
    }

    __device__ __forceinline__ bool operator()(const T &x) const {
        unsigned bits = 0;
        memcpy(&bits, &x, sizeof(T));
        return (bits & kept_) == bits_;
    }

  private:
    unsigned kept_, bits_;
};

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
    // Of those that stand in place number `part` of their words.
    __device__ __forceinline__ unsigned result_of(int part) const {
        const unsigned of_all = Bytes == 1 && part % 2 == 0 ? lower : halves;
        return of_all >> (8 * Bytes * part) & ((1u << (8 * Bytes)) - 1);
    }
};

// Words of elements, turned so that their keys have the order of unsigned numbers, and the largest of what has been
// taken.
template <class T>
    requires compares_by_halves<T>
class LargestOfWords<T> {
  public:
    static constexpr bool is_float = std::is_same_v<T, AnyFloat8>;
    static constexpr unsigned sign = 0x80u; // of a float
    static constexpr unsigned signs = sizeof(T) == 1 ? 0x80808080u : 0x80008000u;
    using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;

    LargestOfWords() = default;
    __device__ __forceinline__ explicit LargestOfWords(const Mapping &m)
        : turn_((m.flip & 1) != 0 ? ~0u : 0), kept_(m.absolute ? ~signs : ~0u) {
        if (!is_float && m.sign_bit != 0) {
            turn_ ^= signs;
        }
    }

    __device__ __forceinline__ static bool suits(const Mapping &m) {
        return !m.ignore_nan && (is_float || !m.absolute);
    }

    __device__ __forceinline__ void take(unsigned word) {
        if constexpr (is_float) {
            word &= kept_;
            magnitudes_.take(word & ~signs);
            unsigned signs_everywhere; // each element's everywhere in it
            asm("prmt.b32 %0, %1, 0, %2;" : "=r"(signs_everywhere) : "r"(word), "n"(0xBA98));
            word ^= signs_everywhere | signs;
        }
        keys_.take(word ^ turn_);
    }

    __device__ __forceinline__ std::int32_t key(const Mapping &m) const {
        return key_of_parts(keys_.result(), magnitudes_.result(), m);
    }
    __device__ __forceinline__ std::int32_t key_of(int part, const Mapping &m) const {
        return key_of_parts(keys_.result_of(part), magnitudes_.result_of(part), m);
    }

  private:
    __device__ __forceinline__ std::int32_t key_of_parts(unsigned largest, unsigned magnitude, const Mapping &m) const {
        const unsigned bits = largest ^ turn_;
        if constexpr (is_float) {
            const T value{static_cast<Bits>((bits & sign) != 0 ? bits ^ sign : ~bits)};
            const unsigned largest_number = m.type == ElementType::f8_e4m3 ? 0x7Eu : 0x7Cu;
            const bool nan = magnitude > largest_number;
            return nan ? Extreme<std::int32_t>::nan_key : Extreme<std::int32_t>::map(value, m);
        } else {
            return Extreme<std::int32_t>::map(static_cast<Bits>(bits), m);
        }
    }

    unsigned turn_, kept_; // bits that are turned over, and that count
    LargestParts<static_cast<int>(sizeof(T))> keys_, magnitudes_;
};
#else
// Without the instruction for it, one by one.
template <class T>
    requires compares_by_halves<T>
class LargestOfWords<T> {
  public:
    LargestOfWords() = default;
    __device__ __forceinline__ explicit LargestOfWords(const Mapping &) {}
    __device__ __forceinline__ static bool suits(const Mapping &) { return false; }
    __device__ __forceinline__ void take(unsigned) {}
    __device__ __forceinline__ std::int32_t key(const Mapping &) const { return 0; }
    __device__ __forceinline__ std::int32_t key_of(int, const Mapping &) const { return 0; }
};
#endif

// Of this lane's vectors those that are among the first `count` of the warp's, where LargestOfWords suits.
template <class T, class Key, int Vectors>
__device__ __forceinline__ Key largest_key_of_first(const uint4 (&vectors)[Vectors], int count, const Mapping &m) {
    LargestOfWords<T> largest(m);
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
        if (v * warp_lanes + lane_index() < count) {
            largest.take(vectors[v].x);
            largest.take(vectors[v].y);
            largest.take(vectors[v].z);
            largest.take(vectors[v].w);
        }
    }
    return lane_index() < count ? largest.key(m) : Extreme<Key>::identity();
}

template <class T, class Key, int Vectors>
__device__ __forceinline__ Key largest_key(const uint4 (&vectors)[Vectors], const Mapping &m) {
    if constexpr (compares_by_words<T>) {
        if (LargestOfWords<T>::suits(m)) {
            LargestOfWords<T> largest(m);
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
    return largest_key_one_by_one<T, Key>(vectors, m);
}

} // namespace wr::cuda
