// The operators, AddOp-style: an accumulator with an identity, how an element maps into it, how two are combined.
//
// `order_free` says that combine is exact in any order. Where it is false, the order is part of the result and is
// always the natural pairwise tree (numerics/tree.h). `positional` says that map is also told where on the axis an
// element stands: map_element gives every operator what it wants. `settle` is applied to a partial result before it
// meets others (a field sum is reduced there, so that 64 bits never overflow); finishing into the output type is
// numerics/finish.h.
//
// One struct serves all public operators that combine alike: a mean is a sum that finishes differently, a minimum a
// maximum of keys turned round, a norm a sum of mapped elements, "any" a count. numerics/mapping.h holds what differs.
#pragma once

#include "numerics/fields.h"
#include "numerics/mapping.h"
#include "numerics/scaled_floats.h"
#include "numerics/wide_integers.h"

#include <limits>
#include <type_traits>

namespace wr {

// The values are the public header's wr_op; capi/ checks that they agree.
enum class Operator : std::int32_t {
    none = 0,
    sum = 1,
    product = 2,
    min = 3,
    max = 4,
    argmin = 5,
    argmax = 6,
    mean = 7,
    sum_of_squares = 8,
    norm_l1 = 9,
    norm_l2 = 10,
    norm_max = 11,
    any = 12,
    all = 13,
    count_nonzero = 14,
    bit_and = 15,
    bit_or = 16,
    bit_xor = 17,
    logsumexp = 18,
    sum_exact = 19,
    dot_exact = 20,
};

// What every operator has unless it says otherwise.
template <class Value>
struct OperatorOver {
    using Accumulator = Value;
    static constexpr bool order_free = true;
    static constexpr bool positional = false;

    WR_HD static Value settle(Value a) { return a; }
};

// Sums of floats, in f32 or f64. The identity is -0.0: adding it changes nothing, the sign of a zero included.
template <class Float>
struct FloatSum : OperatorOver<Float> {
    static constexpr bool order_free = false;

    WR_HD static Float identity() { return Float(-0.0); }
    template <class T>
    WR_HD static Float map(T x, const Mapping &m) {
        return static_cast<Float>(decode(x, m));
    }
    WR_HD static Float combine(Float a, Float b) { return a + b; }
};

// Sums of magnitudes or squares, of elements as they are too; a NaN may be left out of what cannot be negative.
template <class Float>
struct MappedFloatSum : FloatSum<Float> {
    template <class T>
    WR_HD static Float map(T x, const Mapping &m) {
        const Float value = static_cast<Float>(decode(x, m));
        const Float mapped = m.square ? value * value : m.absolute ? magnitude_of(value) : value;
        return m.ignore_nan && is_nan(value) ? Float(-0.0) : mapped;
    }
};

// Sums that leave NaNs out and know how many elements are left.
template <class Float>
struct CountedFloatSum : OperatorOver<Counted<Float>> {
    static constexpr bool order_free = false;

    WR_HD static Counted<Float> identity() { return {Float(-0.0), 0}; }
    template <class T>
    WR_HD static Counted<Float> map(T x, const Mapping &m) {
        const Float value = static_cast<Float>(decode(x, m));
        return is_nan(value) ? identity() : Counted<Float>{value, 1};
    }
    WR_HD static Counted<Float> combine(const Counted<Float> &a, const Counted<Float> &b) {
        return {a.sum + b.sum, a.count + b.count};
    }
};

// Sums of squares whose root is a norm: no square and no sum of them leaves the range.
template <class Float>
struct ScaledSquareSum : OperatorOver<Scaled<Float>> {
    static constexpr bool order_free = false;

    WR_HD static Scaled<Float> identity() { return {Float(-0.0), 0}; }
    template <class T>
    WR_HD static Scaled<Float> map(T x, const Mapping &m) {
        const Float value = static_cast<Float>(decode(x, m));
        return m.ignore_nan && is_nan(value) ? identity() : scaled_square(value);
    }
    WR_HD static Scaled<Float> combine(const Scaled<Float> &a, const Scaled<Float> &b) { return scaled_sum(a, b); }
};

// The same in plain floats: finite where nothing leaves their range, so that scaled_form gives the same, NaN where a
// square lies below the normal range.
template <class Float>
struct PlainSquareSum : FloatSum<Float> {
    template <class T>
    WR_HD static Float map(T x, const Mapping &m) {
        const Float value = static_cast<Float>(decode(x, m));
        const bool loses_bits = magnitude_of(value) < ScaledRange<Float>::least_plain_root && value != 0;
        const Float square = loses_bits ? std::numeric_limits<Float>::quiet_NaN() : value * value;
        return m.ignore_nan && is_nan(value) ? Float(-0.0) : square;
    }
    WR_HD static bool is_enough(Float sum) { return sum < std::numeric_limits<Float>::infinity(); }
};

template <class Float>
struct FloatProduct : OperatorOver<Float> {
    static constexpr bool order_free = false;

    WR_HD static Float identity() { return Float(1); }
    template <class T>
    WR_HD static Float map(T x, const Mapping &m) {
        const Float value = static_cast<Float>(decode(x, m));
        return m.ignore_nan && is_nan(value) ? Float(1) : value;
    }
    WR_HD static Float combine(Float a, Float b) { return a * b; }
};

// Sums of products with the weights, each product rounded once.
template <class Float>
struct WeightedFloatSum : FloatSum<Float> {
    static constexpr bool positional = true;

    template <class T>
    WR_HD static Float times(T x, T weight, const Mapping &m) {
        return static_cast<Float>(decode(x, m)) * static_cast<Float>(decode(weight, m));
    }
    template <class T>
    WR_HD static Float map(T x, const Mapping &m, std::size_t position) {
        return times(x, static_cast<const T *>(m.weights)[position], m);
    }
};

// Sums of integers, in 64 bits modulo 2^64: the low bits are the sum in any narrower width.
struct IntegerSum : OperatorOver<std::uint64_t> {
    WR_HD static std::uint64_t identity() { return 0; }
    template <class T>
    WR_HD static std::uint64_t map(T x, const Mapping &m) {
        return decode_integer(x, m);
    }
    WR_HD static std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return a + b; }
};

// Sums of magnitudes or squares.
struct MappedIntegerSum : IntegerSum {
    template <class T>
    WR_HD static std::uint64_t map(T x, const Mapping &m) {
        const std::uint64_t value = decode_integer(x, m);
        return m.square ? value * value : m.sign_bit != 0 ? magnitude_of(value) : value;
    }
};

struct IntegerProduct : OperatorOver<std::uint64_t> {
    WR_HD static std::uint64_t identity() { return 1; }
    template <class T>
    WR_HD static std::uint64_t map(T x, const Mapping &m) {
        return decode_integer(x, m);
    }
    WR_HD static std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return a * b; }
};

struct WeightedIntegerSum : IntegerSum {
    static constexpr bool positional = true;

    template <class T>
    WR_HD static std::uint64_t times(T x, T weight, const Mapping &m) {
        return decode_integer(x, m) * decode_integer(weight, m);
    }
    template <class T>
    WR_HD static std::uint64_t map(T x, const Mapping &m, std::size_t position) {
        return times(x, static_cast<const T *>(m.weights)[position], m);
    }
};

// An integer for a float output: by its low bits, and as f64.
WR_HD Counted<double> wide_integer(std::uint64_t value, const Mapping &m) {
    return {m.sign_bit != 0 ? static_cast<double>(static_cast<std::int64_t>(value)) : static_cast<double>(value),
            value};
}

// Sums of integers, their magnitudes or squares, that a float output takes whole. (Partial results combine as those of
// CountedFloatSum<double> do.)
struct WideIntegerSum : OperatorOver<Counted<double>> {
    static constexpr bool order_free = false;

    WR_HD static Counted<double> identity() { return {-0.0, 0}; }
    template <class T>
    WR_HD static Counted<double> map(T x, const Mapping &m) {
        const Counted<double> value = wide_integer(decode_integer(x, m), m);
        if (m.square) {
            return {value.sum * value.sum, value.count * value.count};
        }
        return m.absolute && value.sum < 0 ? Counted<double>{-value.sum, 0 - value.count} : value;
    }
    WR_HD static Counted<double> combine(const Counted<double> &a, const Counted<double> &b) {
        return {a.sum + b.sum, a.count + b.count};
    }
};

struct WideWeightedSum : WideIntegerSum {
    static constexpr bool positional = true;

    template <class T>
    WR_HD static Counted<double> times(T x, T weight, const Mapping &m) {
        const Counted<double> a = wide_integer(decode_integer(x, m), m), b = wide_integer(decode_integer(weight, m), m);
        return {a.sum * b.sum, a.count * b.count};
    }
    template <class T>
    WR_HD static Counted<double> map(T x, const Mapping &m, std::size_t position) {
        return times(x, static_cast<const T *>(m.weights)[position], m);
    }
};

struct WideIntegerProduct : OperatorOver<Counted<double>> {
    static constexpr bool order_free = false;

    WR_HD static Counted<double> identity() { return {1.0, 1}; }
    template <class T>
    WR_HD static Counted<double> map(T x, const Mapping &m) {
        return wide_integer(decode_integer(x, m), m);
    }
    WR_HD static Counted<double> combine(const Counted<double> &a, const Counted<double> &b) {
        return {a.sum * b.sum, a.count * b.count};
    }
};

// "Or"; "and" is the "or" of the bits turned over.
struct BitOr : OperatorOver<std::uint64_t> {
    WR_HD static std::uint64_t identity() { return 0; }
    template <class T>
    WR_HD static std::uint64_t map(T x, const Mapping &m) {
        return std::uint64_t{x} ^ m.flip;
    }
    WR_HD static std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return a | b; }
};

struct BitXor : OperatorOver<std::uint64_t> {
    WR_HD static std::uint64_t identity() { return 0; }
    template <class T>
    WR_HD static std::uint64_t map(T x, const Mapping &) {
        return x;
    }
    WR_HD static std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return a ^ b; }
};

struct FourWords {
    std::uint32_t words[4];
};

// The bits of an element, whatever its type: what is zero has none of Mapping::counted_bits, or is Mapping::other_zero.
template <class T>
WR_HD std::uint64_t bits_to_count(T x) {
    if constexpr (std::is_same_v<T, FourWords>) {
        return x.words[0] | x.words[1] | x.words[2] | x.words[3];
    } else {
        return x;
    }
}

// How many elements are not zero, or are.
struct Count : OperatorOver<std::uint64_t> {
    WR_HD static std::uint64_t identity() { return 0; }
    template <class T>
    WR_HD static std::uint64_t map(T x, const Mapping &m) {
        const std::uint64_t bits = bits_to_count(x) & m.counted_bits;
        const bool is_zero = bits == 0 || bits == m.other_zero;
        return m.count_zeros ? is_zero : !is_zero && bits <= m.counted_most;
    }
    WR_HD static std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return a + b; }
};

// Sums of canonical 31-bit field words. 2^32 of them fit 64 bits; what is larger meets only after `settle`.
template <class Word>
struct FieldSum : OperatorOver<std::uint64_t> {
    WR_HD static std::uint64_t identity() { return 0; }
    WR_HD static std::uint64_t map(Word x, const Mapping &) { return x.word; }
    WR_HD static std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return a + b; }
    WR_HD static std::uint64_t settle(std::uint64_t a) { return Field<Word>::reduce(a); }
};

// Sums of canonical 64-bit field words are kept canonical.
template <>
struct FieldSum<Goldilocks> : OperatorOver<std::uint64_t> {
    WR_HD static std::uint64_t identity() { return 0; }
    WR_HD static std::uint64_t map(Goldilocks x, const Mapping &) { return canonical(x).word; }
    WR_HD static std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return Field<Goldilocks>::sum(a, b); }
};

template <class Element>
struct ExtensionSumOperator : OperatorOver<ExtensionSum> {
    WR_HD static ExtensionSum identity() { return {{0, 0, 0, 0}}; }
    WR_HD static ExtensionSum map(const Element &x, const Mapping &) {
        return {{x.words[0].word, x.words[1].word, x.words[2].word, x.words[3].word}};
    }
    WR_HD static ExtensionSum combine(const ExtensionSum &a, const ExtensionSum &b) {
        return {{a.sums[0] + b.sums[0], a.sums[1] + b.sums[1], a.sums[2] + b.sums[2], a.sums[3] + b.sums[3]}};
    }
    WR_HD static ExtensionSum settle(const ExtensionSum &a) {
        const Element words = reduced<Element>(a);
        return map(words, Mapping{});
    }
};
template <>
struct FieldSum<KoalaBearX4> : ExtensionSumOperator<KoalaBearX4> {};
template <>
struct FieldSum<BabyBearX4> : ExtensionSumOperator<BabyBearX4> {};

// a b of one field, to be added up.
template <class Word>
WR_HD auto product_to_add(const Word &a, const Word &b) {
    if constexpr (std::is_same_v<Word, Goldilocks>) {
        return Field<Word>::product(a.word, b.word);
    } else if constexpr (sizeof(Word) == 16) {
        return lazy_product(a, b);
    } else {
        return Field<Word>::lazy_product(a.word, b.word);
    }
}

template <class Word>
struct FieldSquareSum : FieldSum<Word> {
    WR_HD static auto map(const Word &x, const Mapping &) { return product_to_add(x, x); }
};

// Products of canonical words.
template <class Word>
struct FieldProduct : OperatorOver<Word> {
    WR_HD static Word identity() { return {Field<Word>::one}; }
    WR_HD static Word map(Word x, const Mapping &) { return canonical(x); }
    WR_HD static Word combine(Word a, Word b) { return {Field<Word>::product(a.word, b.word)}; }
};

template <class Element>
struct ExtensionProductOperator : OperatorOver<Element> {
    WR_HD static Element identity() { return extension_one<Element>(); }
    WR_HD static Element map(const Element &x, const Mapping &) { return x; }
    WR_HD static Element combine(const Element &a, const Element &b) { return extension_product(a, b); }
};
template <>
struct FieldProduct<KoalaBearX4> : ExtensionProductOperator<KoalaBearX4> {};
template <>
struct FieldProduct<BabyBearX4> : ExtensionProductOperator<BabyBearX4> {};

// Sums of products with weights of the same field.
template <class Word>
struct WeightedFieldSum : FieldSum<Word> {
    static constexpr bool positional = true;

    WR_HD static auto times(const Word &x, const Word &weight, const Mapping &) { return product_to_add(x, weight); }
    WR_HD static auto map(const Word &x, const Mapping &m, std::size_t position) {
        return times(x, static_cast<const Word *>(m.weights)[position], m);
    }
};

// Extension elements with weights of the base field, and the other way round: coordinate by coordinate. The sum is of
// the extension.
template <class Element>
struct ExtensionByBaseSum : FieldSum<Element> {
    using Base = typename Extension<Element>::Word;
    static constexpr bool positional = true;

    WR_HD static ExtensionSum map(const Element &x, const Mapping &m, std::size_t position) {
        return scaled(x, static_cast<const Base *>(m.weights)[position]);
    }
    WR_HD static ExtensionSum map(Base x, const Mapping &m, std::size_t position) {
        return scaled(static_cast<const Element *>(m.weights)[position], x);
    }

  private:
    WR_HD static ExtensionSum scaled(const Element &x, Base factor) {
        ExtensionSum result{};
        for (int k = 0; k < 4; ++k) {
            result.sums[k] = Field<Base>::lazy_product(x.words[k].word, factor.word);
        }
        return result;
    }
};

// Integer keys that order floats as IEEE 754-2019 minimum and maximum do (-0 below +0). The largest key is kept for
// NaN and the smallest for "nothing yet"; no number has either.
WR_HD std::int32_t order_key(float x) {
    const std::int32_t bits = bit_cast<std::int32_t>(x);
    return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}
WR_HD std::int64_t order_key(double x) {
    const std::int64_t bits = bit_cast<std::int64_t>(x);
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF);
}
WR_HD float value_of_key(std::int32_t key) { return bit_cast<float>(key ^ ((key >> 31) & 0x7FFFFFFF)); }
WR_HD double value_of_key(std::int64_t key) { return bit_cast<double>(key ^ ((key >> 63) & 0x7FFFFFFFFFFFFFFF)); }

// Minimum and maximum, both as the maximum of keys: `flip` turns the order round for the minimum (all ones), and makes
// the order of unsigned numbers that of signed keys (the sign bit).
template <class Key>
struct Extreme : OperatorOver<Key> {
    static constexpr Key nan_key = std::numeric_limits<Key>::max();

    WR_HD static Key identity() { return std::numeric_limits<Key>::min(); }
    template <class T>
    WR_HD static Key map(T x, const Mapping &m) {
        if constexpr (std::is_integral_v<T>) {
            return integer_key(x, m);
        } else {
            return float_key(decode(x, m), m);
        }
    }
    WR_HD static Key combine(Key a, Key b) { return larger(a, b); }

  private:
    template <class Float>
    WR_HD static Key float_key(Float x, const Mapping &m) {
        const Float value = m.absolute ? magnitude_of(x) : x;
        const Key for_nan = m.ignore_nan ? identity() : nan_key;
        return is_nan(x) ? for_nan : static_cast<Key>(order_key(value) ^ static_cast<Key>(m.flip));
    }
    template <class Unsigned>
    WR_HD static Key integer_key(Unsigned x, const Mapping &m) {
        const std::uint64_t value = decode_integer(x, m);
        return static_cast<Key>((m.absolute && m.sign_bit != 0 ? magnitude_of(value) : value) ^ m.flip);
    }
};

template <class Key>
struct KeyAt {
    Key key;
    std::uint64_t position;
};

// Where the first of the largest keys stands. No element has the identity's position.
template <class Key>
struct ArgExtreme : OperatorOver<KeyAt<Key>> {
    static constexpr bool positional = true;
    static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

    WR_HD static KeyAt<Key> identity() { return {std::numeric_limits<Key>::min(), nowhere}; }
    template <class T>
    WR_HD static KeyAt<Key> map(T x, const Mapping &m, std::size_t position) {
        if constexpr (!std::is_integral_v<T>) {
            if (m.ignore_nan && is_nan(decode(x, m))) {
                return identity();
            }
        }
        return {Extreme<Key>::map(x, m), position};
    }
    WR_HD static KeyAt<Key> combine(const KeyAt<Key> &a, const KeyAt<Key> &b) {
        return b.key > a.key || (b.key == a.key && b.position < a.position) ? b : a;
    }
};

template <class Op, class T>
WR_HD typename Op::Accumulator map_element(const T &x, const Mapping &m, std::size_t position) {
    if constexpr (Op::positional) {
        return Op::map(x, m, position);
    } else {
        return Op::map(x, m);
    }
}

// What a partial result goes through on its way to the next stage: it is already mapped.
template <class Op>
struct Partial : OperatorOver<typename Op::Accumulator> {
    using Accumulator = typename Op::Accumulator;
    static constexpr bool order_free = Op::order_free;

    WR_HD static Accumulator identity() { return Op::identity(); }
    WR_HD static Accumulator map(const Accumulator &x, const Mapping &) { return x; }
    WR_HD static Accumulator combine(const Accumulator &a, const Accumulator &b) { return Op::combine(a, b); }
    WR_HD static Accumulator settle(const Accumulator &a) { return Op::settle(a); }
};

} // namespace wr
