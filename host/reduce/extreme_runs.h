// The element of a contiguous run that an extreme is decided by, and where it stands first: found among the elements'
// bits, several to a register, without the key of each.
#pragma once

#include "host/common/vectors.h"

#include <type_traits>

namespace wr::host::WR_ISA {
namespace {

// ---- what of the bits is asked

template <class Word>
struct LargestWord {
    using Accumulator = Word;
};
template <class Word>
struct SmallestWord {
    using Accumulator = Word;
};
template <class Word>
struct CombineVectors<LargestWord<Word>> {
    using V = Register<Word>;
    WR_HD static V apply(V a, V b) { return a < b ? b : a; }
};
template <class Word>
struct CombineVectors<SmallestWord<Word>> {
    using V = Register<Word>;
    WR_HD static V apply(V a, V b) { return b < a ? b : a; }
};

template <class T>
constexpr WordOf<T> pattern_of_infinity = 0;
template <>
constexpr std::uint64_t pattern_of_infinity<double> = 0x7FF0000000000000u;
template <>
constexpr std::uint32_t pattern_of_infinity<float> = 0x7F800000u;
template <>
constexpr std::uint16_t pattern_of_infinity<F16> = 0x7C00u;
template <>
constexpr std::uint16_t pattern_of_infinity<BF16> = 0x7F80u;

// Floats by three numbers: as signed words the largest is the largest float that is not negative, or a NaN; as unsigned
// words the largest is the lowest negative float, or a NaN, and the smallest is the answer where all have one sign.
template <class T>
struct FloatBits {
    using Word = WordOf<T>;
    using Signed = std::make_signed_t<Word>;

    Register<Signed> highest;
    Register<Word> largest, smallest;

    WR_HD explicit FloatBits(Register<Word> x) : highest(bit_cast<Register<Signed>>(x)), largest(x), smallest(x) {}

    WR_HD void add(Register<Word> x) { add(FloatBits(x)); }
    WR_HD void add(const FloatBits &other) {
        highest = CombineVectors<LargestWord<Signed>>::apply(highest, other.highest);
        largest = CombineVectors<LargestWord<Word>>::apply(largest, other.largest);
        smallest = CombineVectors<SmallestWord<Word>>::apply(smallest, other.smallest);
    }

    WR_HD Word decide(const Mapping &m) const {
        constexpr Word infinity = pattern_of_infinity<T>, sign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
        const Signed high = combine_lanes<LargestWord<Signed>>(highest);
        const Word large = combine_lanes<LargestWord<Word>>(largest);
        const Word small = combine_lanes<SmallestWord<Word>>(smallest);
        const bool minimum = m.flip != 0;
        if (high > static_cast<Signed>(infinity)) {
            return static_cast<Word>(high);
        }
        if (large > (sign | infinity)) {
            return large;
        }
        if (minimum) {
            return large >= sign ? large : small;
        }
        return high >= 0 ? static_cast<Word>(high) : small;
    }
};

// Integers turned so that the largest signed word is the answer.
template <class T>
struct IntegerBits {
    using Word = WordOf<T>;
    using Signed = std::make_signed_t<Word>;

    Register<Signed> highest;

    WR_HD explicit IntegerBits(Register<Word> turned) : highest(bit_cast<Register<Signed>>(turned)) {}
    WR_HD void add(const IntegerBits &other) {
        highest = CombineVectors<LargestWord<Signed>>::apply(highest, other.highest);
    }
    WR_HD static Word turn(const Mapping &m) {
        constexpr Word sign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
        const bool is_signed = m.sign_bit != 0;
        // flip has the sign bit of a key where the elements have none, and is otherwise all ones or zeros.
        const Word order = static_cast<Word>((m.flip & 1u) != 0 ? ~Word{0} : Word{0});
        return static_cast<Word>(order ^ (is_signed ? Word{0} : sign));
    }
    WR_HD Word decide(const Mapping &m) const {
        return static_cast<Word>(static_cast<Word>(combine_lanes<LargestWord<Signed>>(highest)) ^ turn(m));
    }
};

// ---- over a run

// Floats of 64 bits only where a register of them is compared by one instruction.
template <class T>
constexpr bool finds_deciding_element =
    std::is_integral_v<T> || std::is_same_v<T, float> || std::is_same_v<T, F16> || std::is_same_v<T, BF16>
#if defined(__AVX512F__)
    || std::is_same_v<T, double>
#endif
    ;

template <class T>
constexpr std::size_t word_lanes = lanes_of<WordOf<T>>;

// f32 by the processor's own maximum and minimum, where it has them; they know neither NaNs nor the sign of a zero, so
// where one of these decides the bits do.
#if defined(__AVX512F__) || defined(__AVX2__)
struct FloatExtremes {
#if defined(__AVX512F__)
    using V = __m512; // masked forms, because GCC 12 warns of the plain ones' own source
    static V load(const float *x) { return _mm512_loadu_ps(x); }
    static V larger_of(V a, V b) { return _mm512_maskz_max_ps(0xFFFF, a, b); }
    static V smaller_of(V a, V b) { return _mm512_maskz_min_ps(0xFFFF, a, b); }
    __mmask16 unordered = 0;
    void note(V a, V b) { unordered |= _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
    bool has_nan() const { return unordered != 0; }
#else
    using V = __m256;
    static V load(const float *x) { return _mm256_loadu_ps(x); }
    static V larger_of(V a, V b) { return _mm256_max_ps(a, b); }
    static V smaller_of(V a, V b) { return _mm256_min_ps(a, b); }
    V unordered = _mm256_setzero_ps();
    void note(V a, V b) { unordered = _mm256_or_ps(unordered, _mm256_cmp_ps(a, b, _CMP_UNORD_Q)); }
    bool has_nan() const { return _mm256_movemask_ps(unordered) != 0; }
#endif
    static constexpr std::size_t lanes = sizeof(V) / sizeof(float), chains = 4;

    // Of at least a register; false where it does not decide.
    template <bool minimum>
    bool find(const float *x, std::size_t count, float &found) {
        const auto better = [](V a, V b) { return minimum ? smaller_of(a, b) : larger_of(a, b); };
        const V first = load(x), last = load(x + count - lanes); // some of which others have too
        V chain[chains] = {first, last, first, last};
        note(first, last);
        std::size_t i = 0;
        for (; count - i >= chains * lanes; i += chains * lanes) {
            V next[chains];
            for (std::size_t j = 0; j < chains; ++j) {
                prefetch(x + i + j * lanes, 2048);
                next[j] = load(x + i + j * lanes);
                chain[j] = better(chain[j], next[j]);
            }
            note(next[0], next[1]);
            note(next[2], next[3]);
        }
        for (; count - i >= lanes; i += lanes) {
            const V next = load(x + i);
            chain[0] = better(chain[0], next);
            note(next, next);
        }
        const auto all = bit_cast<Register<float>>(better(better(chain[0], chain[1]), better(chain[2], chain[3])));
        found = minimum ? combine_lanes<SmallestWord<float>>(all) : combine_lanes<LargestWord<float>>(all);
        return found != 0 && !has_nan();
    }
};
#endif

// As deciding_element.
template <class T>
T deciding_by_bits(const T *x, std::size_t count, const Mapping &m) {
    using Bits = std::conditional_t<std::is_integral_v<T>, IntegerBits<T>, FloatBits<T>>;
    using V = Register<WordOf<T>>;
    constexpr std::size_t lanes = word_lanes<T>, chains = 4;
    constexpr std::ptrdiff_t ahead = 2048;
    V turn{};
    if constexpr (std::is_integral_v<T>) {
        turn = V{} + Bits::turn(m);
    }
    const auto load = [&](std::size_t i) { return Bits(load_vector<V>(x + i) ^ turn); };
    Bits all = load(0);
    std::size_t i = 0;
    if (count >= chains * lanes) {
        Bits chain[chains] = {load(0), load(lanes), load(2 * lanes), load(3 * lanes)};
        for (i = chains * lanes; count - i >= chains * lanes; i += chains * lanes) {
            for (std::size_t j = 0; j < chains; ++j) {
                prefetch(x + i + j * lanes, ahead);
                chain[j].add(load(i + j * lanes));
            }
        }
        chain[0].add(chain[1]);
        chain[2].add(chain[3]);
        all = chain[0];
        all.add(chain[2]);
    }
    for (; count - i >= lanes; i += lanes) {
        all.add(load(i));
    }
    all.add(load(count - lanes)); // what is left, and some of the others again
    return bit_cast<T>(all.decide(m));
}

#if defined(__AVX512F__) || defined(__AVX2__)
inline float deciding_float(const float *x, std::size_t count, const Mapping &m) {
    using Op = Extreme<std::int32_t>;
    constexpr std::size_t block = 2048;
    float best = x[0];
    for (std::size_t done = 0; done < count;) {
        // The last block has at least a register's elements, some of those before it.
        const std::size_t start = smaller(done, count - word_lanes<float>), length = smaller(block, count - start);
        FloatExtremes extremes;
        float found = 0;
        const bool decides = m.flip != 0 ? extremes.find<true>(x + start, length, found)
                                         : extremes.find<false>(x + start, length, found);
        const float other = decides ? found : deciding_by_bits(x + start, length, m);
        best = Op::map(other, m) > Op::map(best, m) ? other : best;
        done = start + length;
    }
    return best;
}
#endif

// The element that decides the maximum, or where m.flip says so the minimum: a NaN where there is one, and elements are
// as they are: no magnitudes. count is at least word_lanes.
template <class T>
T deciding_element(const T *x, std::size_t count, const Mapping &m) {
#if defined(__AVX512F__) || defined(__AVX2__)
    if constexpr (std::is_same_v<T, float>) {
        return deciding_float(x, count, m);
    }
#endif
    return deciding_by_bits(x, count, m);
}

template <class Word>
struct AnyBit {
    using Accumulator = Word;
};
template <class Word>
struct CombineVectors<AnyBit<Word>> {
    using V = Register<Word>;
    WR_HD static V apply(V a, V b) { return a | b; }
};

// Where an element of a run stands first; it is there. Any NaN stands for all. count is at least word_lanes.
template <class T>
std::size_t first_place_of(T element, const T *x, std::size_t count) {
    using Word = WordOf<T>;
    using V = Register<Word>;
    constexpr std::size_t lanes = word_lanes<T>, vectors = 8;
    constexpr Word magnitude = static_cast<Word>(~Word{0}) >> 1, infinity = pattern_of_infinity<T>;
    const Word word = bit_cast<Word>(element);
    const bool is_nan = !std::is_integral_v<T> && (word & magnitude) > infinity;
    const auto those_at = [&](std::size_t i) {
        const V words = load_vector<V>(x + i);
        return is_nan ? bit_cast<V>((words & magnitude) > infinity) : bit_cast<V>(words == word);
    };
    const auto any_of = [&](std::size_t first, std::size_t many) {
        V any{};
        for (std::size_t j = 0; j < many; ++j) {
            any |= those_at(first + j * lanes);
        }
        return combine_lanes<AnyBit<Word>>(any) != 0;
    };
    std::size_t i = 0;
    while (count - i >= vectors * lanes && !any_of(i, vectors)) {
        i += vectors * lanes;
    }
    while (count - i > lanes && !any_of(i, 1)) {
        i += lanes;
    }
    // In the last register those before it, which are not it, stand again.
    i = smaller(i, count - lanes);
    const V places = lane_numbers<Word>(std::make_index_sequence<lanes>{}) | ~those_at(i);
    return i + combine_lanes<SmallestWord<Word>>(places);
}

} // namespace
} // namespace wr::host::WR_ISA
