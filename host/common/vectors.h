// Vectors of this translation unit's instruction set, in the compiler's own vector extension, and the two things that a
// tree of sums needs of them: loads that map elements to accumulators, and adding neighbours.
//
// Everything that vector_kernels.cpp and mapped_kernels.cpp include of host/ lives in a namespace named after the
// instruction set, inside an unnamed one, and everything in numerics/ is always inlined: the linker never finds two
// copies to merge, so code for one instruction set cannot be called on a processor that lacks it.
#pragma once

#include "numerics/operators.h"

#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__F16C__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace wr::host::WR_ISA {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t vector_bytes = 32;
#else
constexpr std::size_t vector_bytes = 16;
#endif

template <class T, std::size_t Lanes>
struct VectorOf {
    typedef T Type __attribute__((vector_size(Lanes * sizeof(T))));
};
template <class T, std::size_t Lanes>
using Vector = typename VectorOf<T, Lanes>::Type;

// Accumulators of one register.
template <class T>
constexpr std::size_t lanes_of = vector_bytes / sizeof(T);
template <class T>
using Register = Vector<T, lanes_of<T>>;

constexpr int log2_of(std::size_t power) { return power == 1 ? 0 : 1 + log2_of(power / 2); }

// The largest power of two up to x, 0 for 0. (The standard library's may become a function that variants share.)
WR_HD std::size_t power_of_two_in(std::size_t x) {
    for (int shift = 1; shift < 64; shift *= 2) {
        x |= x >> shift;
    }
    return x - (x >> 1);
}

template <class V>
WR_HD V load_vector(const void *from) {
    V v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

template <class V>
WR_HD void store_vector(void *to, V v) {
    std::memcpy(to, &v, sizeof v);
}

constexpr std::size_t cache_line = 64;

// `ahead` bytes from `from`, which may be past the end of everything: a hint touches nothing.
WR_HD const void *address_ahead(const void *from, std::ptrdiff_t ahead) {
    return reinterpret_cast<const void *>(reinterpret_cast<std::uintptr_t>(from) + static_cast<std::uintptr_t>(ahead));
}
WR_HD void prefetch(const void *from, std::ptrdiff_t ahead) { __builtin_prefetch(address_ahead(from, ahead)); }
// No nearer than the second-level cache: for more than the first has room for.
WR_HD void prefetch_far(const void *from, std::ptrdiff_t ahead) {
    __builtin_prefetch(address_ahead(from, ahead), 0, 2);
}

// Op::combine lane by lane. An operator whose combine is one instruction says so, the others are left to the compiler.
template <class Op>
struct CombineVectors {
    using V = Register<typename Op::Accumulator>;

    WR_HD static V apply(V a, V b) {
        for (std::size_t i = 0; i < lanes_of<typename Op::Accumulator>; ++i) {
            a[i] = Op::combine(a[i], b[i]);
        }
        return a;
    }
};
template <class Float>
struct CombineVectors<FloatSum<Float>> {
    WR_HD static Register<Float> apply(Register<Float> a, Register<Float> b) { return a + b; }
};
template <class Float>
struct CombineVectors<FloatProduct<Float>> {
    WR_HD static Register<Float> apply(Register<Float> a, Register<Float> b) { return a * b; }
};
template <class Key>
struct CombineVectors<Extreme<Key>> {
    WR_HD static Register<Key> apply(Register<Key> a, Register<Key> b) { return a < b ? b : a; }
};
template <class Op>
struct CombineVectors<Partial<Op>> : CombineVectors<Op> {};

// Op where neither squares nor magnitudes are asked for, and the compiler may know it.
template <class Op>
struct Plain : Op {
    WR_HD static Mapping plain(Mapping m) {
        m.square = m.absolute = false;
        return m;
    }
    template <class T>
    WR_HD static typename Op::Accumulator map(T x, const Mapping &m) {
        return Op::map(x, plain(m));
    }
};
template <class Op>
struct CombineVectors<Plain<Op>> : CombineVectors<Op> {};

// Which elements of two vectors a and b, numbered through, are the left (odd 0) and right (odd 1) neighbours that level
// `level` of the tree adds. The first levels stay inside 16 bytes and the last ones move 16 bytes whole, because such
// shuffles are one instruction everywhere; after log2(lanes) levels, `lanes` vectors have become the vector of their
// sums, in order.
template <class T, int level>
constexpr int neighbour(int i, int odd) {
    constexpr int lanes = static_cast<int>(lanes_of<T>);
    constexpr int quad = 16 / static_cast<int>(sizeof(T));
    constexpr bool inside_quad = (2 << level) <= quad;
    constexpr int run =
        inside_quad ? quad : lanes; // a run of the result takes from a in its first half, b in the other
    constexpr int unit = inside_quad ? 1 : quad;
    const int start = i / run * run;
    const int place = (i - start) / unit, half = run / unit / 2;
    const int source = place < half ? 0 : lanes;
    return source + start + (2 * (place % half) + odd) * unit + i % unit;
}

template <class T, int level, int odd, std::size_t... i>
WR_HD Register<T> pick_neighbours(Register<T> a, Register<T> b, std::index_sequence<i...>) {
    return __builtin_shufflevector(a, b, neighbour<T, level>(static_cast<int>(i), odd)...);
}

template <class Op, int level>
WR_HD auto add_neighbours(Register<typename Op::Accumulator> a, Register<typename Op::Accumulator> b) {
    using T = typename Op::Accumulator;
    constexpr auto all = std::make_index_sequence<lanes_of<T>>{};
    return CombineVectors<Op>::apply(pick_neighbours<T, level, 0>(a, b, all), pick_neighbours<T, level, 1>(a, b, all));
}

// A vector's own neighbours added at levels `level` to `end` - 1: with level 0, lane 0 is the tree of the first 2^end.
template <class Op, int level, int end>
WR_HD auto add_within(Register<typename Op::Accumulator> v) {
    if constexpr (level == end) {
        return v;
    } else {
        return add_within<Op, level + 1, end>(add_neighbours<Op, level>(v, v));
    }
}

// The tree of one vector's lanes.
template <class Op>
WR_HD auto combine_lanes(Register<typename Op::Accumulator> v) {
    return add_within<Op, 0, log2_of(lanes_of<typename Op::Accumulator>)>(v)[0];
}

// The bits of an element.
template <class T>
using WordOf = std::conditional_t<
    sizeof(T) == 8, std::uint64_t,
    std::conditional_t<sizeof(T) == 4, std::uint32_t, std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;

// What a vector of accumulators is read from: as many elements, bit for bit.
template <class Op, class T>
using Raw = Vector<T, lanes_of<typename Op::Accumulator>>;

// Op::map of a vector of elements, for the pairs of operator and type where a compiler does not find it in the scalar
// code. `T` is the type of the elements as numbers: std::uint16_t stands for the bits of F16 and BF16.
template <class Op, class T>
struct MapVectors {
    static constexpr bool known = false;
};

// The type as which a vector holds elements.
template <class T>
struct NumberOf {
    using Type = T;
};
template <>
struct NumberOf<F16> {
    using Type = std::uint16_t;
};
template <>
struct NumberOf<BF16> {
    using Type = std::uint16_t;
};
template <>
struct NumberOf<E4M3> {
    using Type = std::uint8_t;
};
template <>
struct NumberOf<E5M2> {
    using Type = std::uint8_t;
};

template <std::size_t lanes>
WR_HD Vector<float, lanes> widen_vector(BF16, Vector<std::uint16_t, lanes> bits) {
    return bit_cast<Vector<float, lanes>>(__builtin_convertvector(bits, Vector<std::uint32_t, lanes>) << 16);
}

template <std::size_t lanes>
WR_HD Vector<float, lanes> widen_vector(F16, Vector<std::uint16_t, lanes> bits) {
#if defined(__AVX512F__)
    if constexpr (lanes == 16) {
        // The masked form, because GCC 12 warns of the plain one's own source.
        return bit_cast<Vector<float, lanes>>(_mm512_maskz_cvtph_ps(0xFFFF, bit_cast<__m256i>(bits)));
    }
#endif
#if defined(__F16C__)
    if constexpr (lanes == 8) {
        return bit_cast<Vector<float, lanes>>(_mm256_cvtph_ps(bit_cast<__m128i>(bits)));
    }
#endif
    // As widen() does it.
    using Bits = Vector<std::uint32_t, lanes>;
    const Bits wide = __builtin_convertvector(bits, Bits);
    const Bits magnitude = wide & 0x7FFFu;
    const Vector<float, lanes> scaled = bit_cast<Vector<float, lanes>>(magnitude << 13) * 0x1p112f;
    const Bits special = (magnitude >= 0x7C00u) & 0x7F800000u;
    return bit_cast<Vector<float, lanes>>(bit_cast<Bits>(scaled) | special | ((wide & 0x8000u) << 16));
}

template <std::size_t lanes>
WR_HD Vector<float, lanes> widen_vector(E5M2, Vector<std::uint8_t, lanes> bits) {
    using Halves = Vector<std::uint16_t, lanes>;
    return widen_vector<lanes>(F16{}, static_cast<Halves>(__builtin_convertvector(bits, Halves) << 8));
}

// As an f16 with the same bits where it has them, which is 2^8 times too small: subnormal f16 are widened at full
// speed.
template <std::size_t lanes>
WR_HD Vector<float, lanes> widen_vector(E4M3, Vector<std::uint8_t, lanes> bits) {
    using Halves = Vector<std::uint16_t, lanes>;
    const Halves x = __builtin_convertvector(bits, Halves);
    const Halves half = static_cast<Halves>(((x & 0x7Fu) << 7) | ((x & 0x80u) << 8));
    const Vector<float, lanes> number = widen_vector<lanes>(F16{}, half) * 0x1p8f;
    const Vector<std::uint32_t, lanes> wide = __builtin_convertvector(x, Vector<std::uint32_t, lanes>);
    return (wide & 0x7Fu) == 0x7Fu ? bit_cast<Vector<float, lanes>>(wide | canonical_nan_f32) : number;
}

template <class T, class V>
WR_HD auto widen_raw(V raw) {
    constexpr std::size_t lanes = sizeof(V) / sizeof(T);
    if constexpr (sizeof(T) < sizeof(float)) {
        return widen_vector<lanes>(T{}, raw);
    } else {
        return raw;
    }
}

template <class Float, class T>
struct MapVectors<FloatSum<Float>, T> {
    static constexpr bool known = true;

    WR_HD static Register<Float> apply(Raw<FloatSum<Float>, typename NumberOf<T>::Type> raw, const Mapping &) {
        return __builtin_convertvector(widen_raw<T>(raw), Register<Float>);
    }
};

// Keys of floats, and of integers of 64 bits. The order of narrower ones is found by the compiler.
template <class Key, class T>
    requires(!std::is_integral_v<T>)
struct MapVectors<Extreme<Key>, T> {
    static constexpr bool known = true;

    WR_HD static Register<Key> apply(Raw<Extreme<Key>, typename NumberOf<T>::Type> raw, const Mapping &m) {
        constexpr Key all_but_sign = std::numeric_limits<Key>::max();
        const auto x = widen_raw<T>(raw);
        const auto bits = bit_cast<Register<Key>>(x) & (m.absolute ? all_but_sign : Key{-1});
        const Key for_nan = m.ignore_nan ? Extreme<Key>::identity() : Extreme<Key>::nan_key;
        const Register<Key> key = bits ^ ((bits >> (8 * sizeof(Key) - 1)) & all_but_sign) ^ static_cast<Key>(m.flip);
        return x != x ? Register<Key>{} + for_nan : key;
    }
};

template <>
struct MapVectors<Extreme<std::int64_t>, std::uint64_t> {
    static constexpr bool known = true;

    WR_HD static Register<std::int64_t> apply(Register<std::uint64_t> x, const Mapping &m) {
        const auto negative = bit_cast<Register<std::uint64_t>>(bit_cast<Register<std::int64_t>>(x) >> 63);
        const auto magnitude = m.absolute && m.sign_bit != 0 ? (x ^ negative) - negative : x;
        return bit_cast<Register<std::int64_t>>(magnitude ^ m.flip);
    }
};

template <class Op, class T>
    requires(MapVectors<Op, T>::known)
struct MapVectors<Plain<Op>, T> {
    static constexpr bool known = true;

    WR_HD static auto apply(Raw<Op, typename NumberOf<T>::Type> raw, const Mapping &m) {
        return MapVectors<Op, T>::apply(raw, Plain<Op>::plain(m));
    }
};

template <class Op>
struct MapVectors<Partial<Op>, typename Op::Accumulator> {
    static constexpr bool known = true;

    WR_HD static Register<typename Op::Accumulator> apply(Register<typename Op::Accumulator> x, const Mapping &) {
        return x;
    }
};

// Accumulators straight from memory, for operators that read more there than the elements.
template <class Op, class T>
struct LoadVectors {
    static constexpr bool known = false;
};

// Accumulators of consecutive elements.
template <class Op, class T>
WR_HD auto load_mapped(const T *from, const Mapping &m) {
    using Accumulator = typename Op::Accumulator;
    if constexpr (LoadVectors<Op, T>::known) {
        return LoadVectors<Op, T>::load(from, m);
    } else if constexpr (MapVectors<Op, T>::known) {
        return MapVectors<Op, T>::apply(load_vector<Raw<Op, typename NumberOf<T>::Type>>(from), m);
    } else {
        Register<Accumulator> v;
        for (std::size_t i = 0; i < lanes_of<Accumulator>; ++i) {
            v[i] = Op::map(from[i], m);
        }
        return v;
    }
}

// Whether a part of a vector is read at once: element by element takes longer than what is not done to vectors.
#if defined(__AVX2__)
constexpr bool parts_are_quick = true;
#else
constexpr bool parts_are_quick = false;
#endif

// The first `count` elements of a vector and those of `others` behind them, whose memory is not touched.
template <class V, class T>
WR_HD V load_part(const T *from, std::size_t count, V others = V{}) {
#if defined(__AVX512VL__) && defined(__AVX512BW__)
    const unsigned mask = (1u << count) - 1;
    if constexpr (sizeof(V) == 64 && sizeof(T) == 4) {
        return bit_cast<V>(_mm512_mask_loadu_epi32(bit_cast<__m512i>(others), static_cast<__mmask16>(mask), from));
    } else if constexpr (sizeof(V) == 64 && sizeof(T) == 8) {
        return bit_cast<V>(_mm512_mask_loadu_epi64(bit_cast<__m512i>(others), static_cast<__mmask8>(mask), from));
    } else if constexpr (sizeof(V) == 32 && sizeof(T) == 2) {
        return bit_cast<V>(_mm256_mask_loadu_epi16(bit_cast<__m256i>(others), static_cast<__mmask16>(mask), from));
    } else if constexpr (sizeof(V) == 32 && sizeof(T) == 4) {
        return bit_cast<V>(_mm256_mask_loadu_epi32(bit_cast<__m256i>(others), static_cast<__mmask8>(mask), from));
    } else if constexpr (sizeof(V) == 16 && sizeof(T) == 2) {
        return bit_cast<V>(_mm_mask_loadu_epi16(bit_cast<__m128i>(others), static_cast<__mmask8>(mask), from));
    }
#elif defined(__AVX2__)
    const auto lane_mask = [&]<class Int, std::size_t... i>(Int, std::index_sequence<i...>) {
        return Vector<Int, sizeof...(i)>{static_cast<Int>(i)...} < static_cast<Int>(count);
    };
    if constexpr (sizeof(V) == 32 && sizeof(T) == 4) {
        const auto mask = lane_mask(std::int32_t{}, std::make_index_sequence<8>{});
        const auto some = _mm256_maskload_epi32(reinterpret_cast<const int *>(from), bit_cast<__m256i>(mask));
        return mask ? bit_cast<V>(some) : others;
    } else if constexpr (sizeof(V) == 32 && sizeof(T) == 8) {
        const auto mask = lane_mask(std::int64_t{}, std::make_index_sequence<4>{});
        const auto some = _mm256_maskload_epi64(reinterpret_cast<const long long *>(from), bit_cast<__m256i>(mask));
        return mask ? bit_cast<V>(some) : others;
    }
#endif
    V v = others;
    std::memcpy(&v, from, count * sizeof(T));
    return v;
}

// The first `count` elements of a vector; the memory of the others is not touched.
template <class T, class V>
WR_HD void store_part(T *to, V v, std::size_t count) {
#if defined(__AVX512F__)
    if constexpr (sizeof(V) == 64 && sizeof(T) == 4) {
        return _mm512_mask_storeu_epi32(to, static_cast<__mmask16>((1u << count) - 1), bit_cast<__m512i>(v));
    } else if constexpr (sizeof(V) == 64 && sizeof(T) == 8) {
        return _mm512_mask_storeu_epi64(to, static_cast<__mmask8>((1u << count) - 1), bit_cast<__m512i>(v));
    }
#endif
    std::memcpy(to, &v, count * sizeof(T));
}

// Sums of neighbours straight from memory, for the pairs of operator and type where they need no shuffle. Elements that
// do not exist are identities.
template <class Op, class T>
struct PairVectors {
    static constexpr bool known = false;
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
// Two bf16 in a word of 32 bits: the upper one is an f32 where the lower one is cleared, the lower one where it is
// moved up.
template <>
struct PairVectors<FloatSum<float>, BF16> {
    static constexpr bool known = true;
    using Words = Register<std::uint32_t>;

    WR_HD static Register<float> sums(Words words) {
        return bit_cast<Register<float>>(words << 16) + bit_cast<Register<float>>(words & 0xFFFF0000u);
    }
    WR_HD static Register<float> apply(const BF16 *from) { return sums(load_vector<Words>(from)); }
    WR_HD static Register<float> apply_part(const BF16 *from, std::size_t present) {
#if defined(__AVX512VL__) && defined(__AVX512BW__)
        const auto mask = static_cast<__mmask32>((std::uint64_t{1} << present) - 1);
        return sums(bit_cast<Words>(_mm512_mask_loadu_epi16(_mm512_set1_epi32(two_identities), mask, from)));
#else
        Words words = Words{} + static_cast<std::uint32_t>(two_identities);
        std::memcpy(&words, from, present * sizeof(BF16));
        return sums(words);
#endif
    }

  private:
    static constexpr int two_identities = static_cast<int>(0x80008000u);
};
#endif

template <class Word, std::size_t... i>
WR_HD auto lane_numbers(std::index_sequence<i...>) {
    return Register<Word>{static_cast<Word>(i)...};
}

template <class T, std::size_t... i>
WR_HD auto lanes_below(std::size_t count, std::index_sequence<i...>) {
    using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    return Register<Int>{static_cast<Int>(i)...} < static_cast<Int>(count);
}

template <class Op>
constexpr bool is_float_sum = false;
template <class Float>
constexpr bool is_float_sum<FloatSum<Float>> = true;

// As load_mapped where only the first `count` elements exist; the identity stands for the others.
template <class Op, class T>
WR_HD auto load_mapped_part(const T *from, std::size_t count, const Mapping &m) {
    using Accumulator = typename Op::Accumulator;
    constexpr std::size_t lanes = lanes_of<Accumulator>;
    if constexpr (LoadVectors<Op, T>::known) {
        return LoadVectors<Op, T>::load_part(from, count, m);
    } else if constexpr (is_float_sum<Op>) {
        using Bits = WordOf<T>;
        constexpr Bits zero = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1)); // -0, the identity
        using V = Raw<Op, typename NumberOf<T>::Type>;
        return MapVectors<Op, T>::apply(load_part<V>(from, count, bit_cast<V>(Raw<Op, Bits>{} + zero)), m);
    } else if constexpr (MapVectors<Op, T>::known) {
        const auto raw = load_part<Raw<Op, typename NumberOf<T>::Type>>(from, count);
        Register<Accumulator> identity;
        for (std::size_t i = 0; i < lanes; ++i) {
            identity[i] = Op::identity();
        }
        return lanes_below<Accumulator>(count, std::make_index_sequence<lanes>{}) ? MapVectors<Op, T>::apply(raw, m)
                                                                                  : identity;
    } else {
        Register<Accumulator> v;
        for (std::size_t i = 0; i < lanes; ++i) {
            v[i] = i < count ? Op::map(from[i], m) : Op::identity();
        }
        return v;
    }
}

} // namespace
} // namespace wr::host::WR_ISA
