// Reading a row tile by tile: 4 KiB for a warp, 8 streaming 16-byte loads in flight in each lane, whatever the row's
// alignment, and never a byte outside the caller's array.
#pragma once

#include "cuda/common/vectors.h"
#include "cuda/device/warp_tree.cuh"
#include "cuda/reduce/extreme_of_vectors.cuh"
#include "cuda/reduce/quick_way.cuh"
#include "cuda/reduce/value_maps.cuh"
#include "numerics/operators.h"

namespace wr::cuda {

inline constexpr int word_bytes = sizeof(unsigned);
inline constexpr int tile_bytes = tree_registers * warp_lanes * vector_bytes;

template <class T>
inline constexpr int vector_elements = vector_bytes / static_cast<int>(sizeof(T));
template <class T>
inline constexpr int tile_elements = tile_bytes / static_cast<int>(sizeof(T));

// A row to be reduced: `count` elements, `stride` elements apart (1 for the vector path).
template <class T>
struct Row {
    const T *data;
    std::size_t count;
    std::ptrdiff_t stride;
};

__device__ __forceinline__ uint4 load_streaming(const char *at) { return __ldcs(reinterpret_cast<const uint4 *>(at)); }

// Whether the weights are of the elements' own type, and so can be read by vectors as these are.
template <class T, class Op>
concept WeightedAlike = requires(T x, Mapping m) { Op::times(x, x, m); };

// The weights of a vector of elements that do not lie for one load.
template <class T>
__device__ __noinline__ uint4 single_weights(const T *at) {
    T weights[vector_elements<T>];
#pragma unroll
    for (int e = 0; e < vector_elements<T>; ++e) {
        weights[e] = at[e];
    }
    uint4 vector;
    memcpy(&vector, weights, sizeof(vector));
    return vector;
}

// The weights of `Vectors` vectors of elements, `step` vectors apart, the first of which stands at `position`: asked
// for beside the elements. Nothing where the operator does not take them so.
template <class T, class Op, int Vectors>
struct Weights {
    __device__ __forceinline__ Weights(const Mapping &, std::size_t, int) {}
};
template <class T, class Op, int Vectors>
    requires WeightedAlike<T, Op>
struct Weights<T, Op, Vectors> {
    uint4 vectors[Vectors];

    __device__ __forceinline__ Weights(const Mapping &m, std::size_t position, int step) {
        const T *at = static_cast<const T *>(m.weights) + position;
        if (reinterpret_cast<std::uintptr_t>(at) % vector_bytes == 0) {
#pragma unroll
            for (int v = 0; v < Vectors; ++v) {
                vectors[v] = __ldg(reinterpret_cast<const uint4 *>(at + v * step * vector_elements<T>));
            }
        } else {
#pragma unroll
            for (int v = 0; v < Vectors; ++v) {
                vectors[v] = single_weights(at + v * step * vector_elements<T>);
            }
        }
    }
};

// Integers that are added up as they are, four or two in one instruction.
template <class T>
inline constexpr bool has_dot_instruction = std::is_same_v<T, std::uint8_t> || std::is_same_v<T, std::uint16_t>;

template <class T>
__device__ __forceinline__ std::uint64_t sum_of_narrow_integers(const uint4 &vector, bool is_signed) {
    const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
    int with_sign = 0;
    unsigned without = 0;
#pragma unroll
    for (const unsigned word : words) {
        if constexpr (sizeof(T) == 1) {
            with_sign = __dp4a(static_cast<int>(word), 0x01010101, with_sign);
            without = __dp4a(word, 0x01010101u, without);
        } else {
            with_sign = __dp2a_lo(static_cast<int>(word), 0x00000101, with_sign);
            without = __dp2a_lo(word, 0x00000101u, without);
        }
    }
    return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(with_sign)) : without;
}

// The lower or upper two of four f8. In one instruction, where the GPU has it.
template <bool Upper>
__device__ __forceinline__ void widen_pair(unsigned word, float &low, float &high, E4M3) {
#if __CUDA_ARCH__ >= 890
    const auto bits = static_cast<unsigned short>(Upper ? word >> 16 : word);
    unsigned halves;
    asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(bits));
    low = widen(F16{static_cast<std::uint16_t>(halves)});
    high = widen(F16{static_cast<std::uint16_t>(halves >> 16)});
#else
    low = widen(E4M3{static_cast<std::uint8_t>(Upper ? word >> 16 : word)});
    high = widen(E4M3{static_cast<std::uint8_t>(Upper ? word >> 24 : word >> 8)});
#endif
}
// E5M2 is the upper half of an f16.
template <bool Upper>
__device__ __forceinline__ void widen_pair(unsigned word, float &low, float &high, E5M2) {
    const unsigned halves = __byte_perm(word, 0, Upper ? 0x3424 : 0x1404);
    low = widen(F16{static_cast<std::uint16_t>(halves)});
    high = widen(F16{static_cast<std::uint16_t>(halves >> 16)});
}

template <class T>
inline constexpr bool is_f8 = std::is_same_v<T, E4M3> || std::is_same_v<T, E5M2>;

template <class F8>
__device__ __forceinline__ void widen_vector(const uint4 &vector, float (&values)[16]) {
    const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
        widen_pair<false>(words[w], values[4 * w], values[4 * w + 1], F8());
        widen_pair<true>(words[w], values[4 * w + 2], values[4 * w + 3], F8());
    }
}

// Four bytes at once, where none can be a NaN that is to be ignored: the upper bit of each that counts is set.
__device__ __forceinline__ unsigned count_bytes(const uint4 &vector, const Mapping &m) {
    const unsigned wanted = static_cast<unsigned>(m.counted_bits & 0xFFu) * 0x01010101u;
    const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
    unsigned count = 0;
#pragma unroll
    for (const unsigned word : words) {
        const unsigned bits = word & wanted;
        const unsigned marks = (((bits & 0x7F7F7F7Fu) + 0x7F7F7F7Fu) | bits) & 0x80808080u;
        count = __dp4a(marks >> 7, 0x01010101u, count);
    }
    return m.count_zeros ? static_cast<unsigned>(sizeof(uint4)) - count : count;
}

// Elements of a vector that count.
template <class T>
__device__ __forceinline__ std::uint64_t count_vector(const uint4 &vector, const Mapping &m) {
    if constexpr (sizeof(T) == 1) {
        if (m.counted_most >= 0xFFu) {
            return count_bytes(vector, m);
        }
    }
    T raw[vector_elements<T>];
    memcpy(raw, &vector, sizeof(vector));
    unsigned count = 0;
#pragma unroll
    for (int e = 0; e < vector_elements<T>; ++e) {
        count += static_cast<unsigned>(Count::map(raw[e], m));
    }
    return count;
}

// The tree over the elements of one 16-byte vector.
template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator vector_tree(const uint4 &vector, const Mapping &m) {
    static_assert(!Op::positional);
    constexpr int elements = vector_elements<T>;
    if constexpr (std::is_same_v<Op, IntegerSum> && has_dot_instruction<T>) {
        return sum_of_narrow_integers<T>(vector, m.sign_bit != 0);
    }
    if constexpr (std::is_same_v<Op, Count>) {
        return count_vector<T>(vector, m);
    }
    if constexpr (std::is_same_v<Op, Extreme<std::int32_t>> && compares_by_words<T> && sizeof(T) < sizeof(float)) {
        return largest_key<T, std::int32_t>({vector}, m);
    }
    typename Op::Accumulator values[elements];
    if constexpr (is_f8<T> && std::is_same_v<Op, FloatSum<float>>) {
        widen_vector<T>(vector, values);
    } else {
        T raw[elements];
        memcpy(raw, &vector, sizeof(vector));
        if constexpr (std::is_same_v<Op, PlainSquareSum<float>>) {
            PlainSquares<float> squares(m);
#pragma unroll
            for (int e = 0; e < elements; ++e) {
                values[e] = squares.of(raw[e], m);
            }
            const float tree = tree_of_elements<Op>(values);
            return squares.kept_all_bits() ? tree : std::numeric_limits<float>::quiet_NaN();
        } else {
            return with_value_map<T, Op>(m, [&](auto way, const auto &of) {
#pragma unroll
                for (int e = 0; e < elements; ++e) {
                    values[e] = decltype(way)::map(of(raw[e]), m);
                }
                return tree_of_elements<Op>(values);
            });
        }
    }
    return tree_of_elements<Op>(values);
}

// The same where an element's place on the axis counts, or its weight; the first element stands at `position`.
template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator positional_vector_tree(const uint4 &vector, const Mapping &m,
                                                                           std::size_t position) {
    constexpr int elements = vector_elements<T>;
    T raw[elements];
    memcpy(raw, &vector, sizeof(vector));
    typename Op::Accumulator values[elements];
#pragma unroll
    for (int e = 0; e < elements; ++e) {
        values[e] = map_element<Op>(raw[e], m, position + static_cast<std::size_t>(e));
    }
    return tree_of_elements<Op>(values);
}
template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator weighted_vector_tree(const uint4 &vector, const uint4 &weights,
                                                                         const Mapping &m) {
    constexpr int elements = vector_elements<T>;
    T raw[elements], factors[elements];
    memcpy(raw, &vector, sizeof(vector));
    memcpy(factors, &weights, sizeof(weights));
    typename Op::Accumulator values[elements];
#pragma unroll
    for (int e = 0; e < elements; ++e) {
        values[e] = Op::times(raw[e], factors[e], m);
    }
    return tree_of_elements<Op>(values);
}

__device__ __forceinline__ unsigned offset_in_vector(const void *at) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at) % vector_bytes);
}

// The vectors of the tile at `at`, which lies on a 16-byte boundary.
__device__ __forceinline__ void load_aligned_tile(const char *at, uint4 (&vectors)[tree_registers]) {
#pragma unroll
    for (int v = 0; v < tree_registers; ++v) {
        vectors[v] = load_streaming(at + (v * warp_lanes + lane_index()) * vector_bytes);
    }
}

// The first `count` vectors of such a tile, at least one; the last stands in for those behind it. `at` is this lane's
// first.
__device__ __forceinline__ void load_repeating_last(const char *at, int count, uint4 (&vectors)[tree_registers]) {
    const int last = count - 1 - lane_index();
#pragma unroll
    for (int v = 0; v < tree_registers; ++v) {
        vectors[v] = load_streaming(at + smaller(v * warp_lanes, last) * vector_bytes);
    }
}

// Such a tile by plain loads, which are the quicker ones where nearly as much is written.
__device__ __forceinline__ void load_aligned_tile_plainly(const char *at, uint4 (&vectors)[tree_registers]) {
#pragma unroll
    for (int v = 0; v < tree_registers; ++v) {
        vectors[v] = *reinterpret_cast<const uint4 *>(at + (v * warp_lanes + lane_index()) * vector_bytes);
    }
}

// Whether the `bytes` at `at` can be read by the words that hold them without leaving the readable range: always where
// elements are whole words.
template <class T>
__device__ __forceinline__ bool words_are_readable(const char *at, std::size_t bytes, ReadableRange readable_range) {
    const unsigned offset = offset_in_vector(at) % word_bytes;
    return sizeof(T) >= word_bytes || offset == 0 ||
           (at - offset >= readable_range.begin && at - offset + bytes + word_bytes <= readable_range.end);
}

template <class Piece>
__device__ __forceinline__ Piece load_piece(const char *at) {
    return __ldcs(reinterpret_cast<const Piece *>(at));
}

// This lane's vectors of a tile at `at`, which lies `offset` bytes behind a 16-byte boundary, number v of them
// place_of(v) bytes further on: by the widest pieces whose boundaries they are on. Vectors that do not begin with a
// word take a word more, and are shifted.
template <class T, class PlaceOf>
__device__ __forceinline__ void load_by_pieces(const char *at, unsigned offset, const PlaceOf &place_of,
                                               uint4 (&vectors)[tree_registers]) {
    const auto for_each = [&](const auto &load) {
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            load(v, at + place_of(v));
        }
    };
    const bool first_word = offset < word_bytes, even_word = (offset & word_bytes) == 0;
    if (offset == 0) {
        for_each([&](int v, const char *from) { vectors[v] = load_piece<uint4>(from); });
    } else if (sizeof(T) >= word_bytes || offset % word_bytes == 0) {
        if (sizeof(T) == 8 || even_word) {
            for_each([&](int v, const char *from) {
                const auto low = load_piece<uint2>(from), high = load_piece<uint2>(from + 8);
                vectors[v] = {low.x, low.y, high.x, high.y};
            });
        } else {
            for_each([&](int v, const char *from) {
                const auto middle = load_piece<uint2>(from + 4);
                vectors[v] = {load_piece<unsigned>(from), middle.x, middle.y, load_piece<unsigned>(from + 12)};
            });
        }
    } else {
        unsigned behind[tree_registers];
        at -= offset % word_bytes;
        if (first_word) {
            for_each([&](int v, const char *from) {
                vectors[v] = load_piece<uint4>(from);
                behind[v] = load_piece<unsigned>(from + 16);
            });
        } else if (even_word) {
            for_each([&](int v, const char *from) {
                const auto low = load_piece<uint2>(from), high = load_piece<uint2>(from + 8);
                vectors[v] = {low.x, low.y, high.x, high.y};
                behind[v] = load_piece<unsigned>(from + 16);
            });
        } else {
            for_each([&](int v, const char *from) {
                const auto low = load_piece<uint2>(from + 4), high = load_piece<uint2>(from + 12);
                vectors[v] = {load_piece<unsigned>(from), low.x, low.y, high.x};
                behind[v] = high.y;
            });
        }
        const unsigned bits = offset % word_bytes * 8;
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            const uint4 w = vectors[v];
            vectors[v] = {__funnelshift_r(w.x, w.y, bits), __funnelshift_r(w.y, w.z, bits),
                          __funnelshift_r(w.z, w.w, bits), __funnelshift_r(w.w, behind[v], bits)};
        }
    }
}

// The vectors of the tile at `at`, which lies `offset` bytes behind a 16-byte boundary.
template <class T>
__device__ __forceinline__ void load_any_tile(const char *at, unsigned offset, uint4 (&vectors)[tree_registers]) {
    load_by_pieces<T>(
        at + lane_index() * vector_bytes, offset, [](int v) { return v * warp_lanes * vector_bytes; }, vectors);
}

// 256 elements of a row from `first` on, at position 32 v + lane, one load each; the identity behind the row's end.
template <class T, class Op>
__device__ __forceinline__ void load_strided(const Row<T> &row, std::size_t first, const Mapping &m,
                                             typename Op::Accumulator (&values)[tree_registers]) {
#pragma unroll
    for (int v = 0; v < tree_registers; ++v) {
        const std::size_t at = first + static_cast<std::size_t>(v * warp_lanes + lane_index());
        values[v] = Op::identity();
        if (at < row.count) {
            values[v] = map_element<Op>(row.data[static_cast<std::ptrdiff_t>(at) * row.stride], m, at);
        }
    }
}

// All of a lane's values into one, for operators that are exact in any order.
template <class Op>
__device__ __forceinline__ typename Op::Accumulator
combine_registers(const typename Op::Accumulator (&values)[tree_registers]) {
    auto sum = values[0];
#pragma unroll
    for (int v = 1; v < tree_registers; ++v) {
        sum = Op::combine(sum, values[v]);
    }
    return sum;
}

// A tile's result: the tree over it in every lane; for operators that are exact in any order, each lane's own share.
template <class Op>
__device__ __forceinline__ typename Op::Accumulator tile_result(typename Op::Accumulator (&values)[tree_registers]) {
    if constexpr (Op::order_free) {
        return combine_registers<Op>(values);
    } else {
        return warp_tree<Op>(values);
    }
}

// Of this lane's vector number v of a tile: the place of its first element.
template <class T>
__device__ __forceinline__ std::size_t place_of_vector(int v) {
    return static_cast<std::size_t>(v * warp_lanes + lane_index()) * vector_elements<T>;
}

} // namespace wr::cuda
