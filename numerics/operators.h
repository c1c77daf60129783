// The operators, AddOp-style: an accumulator with an identity, how an element maps into it, how two are combined.
//
// `order_free` says that combine is exact in any order. Where it is false, the order is part of the result and is
// always the natural pairwise tree (numerics/tree.h). `settle` is applied to a partial result before it meets others
// (a field sum folds there, so that 64 bits never overflow); finishing into the output type is numerics/finish.h.
#pragma once

#include "numerics/float_formats.h"
#include "numerics/koalabear.h"

#include <limits>

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
};

// Sums of floats, in f32 or f64. The identity is -0.0: adding it changes nothing, the sign of a zero included.
template <class Float>
struct FloatSum {
    using Accumulator = Float;
    static constexpr bool order_free = false;

    WR_HD static Float identity() { return Float(-0.0); }
    template <class T>
    WR_HD static Float map(T x, std::uint64_t) {
        return static_cast<Float>(widen(x));
    }
    WR_HD static Float combine(Float a, Float b) { return a + b; }
    WR_HD static Float settle(Float a) { return a; }
};

// Sums of integers, in 64 bits modulo 2^64: the low bits are the sum in any narrower width.
struct IntegerSum {
    using Accumulator = std::uint64_t;
    static constexpr bool order_free = true;

    WR_HD static std::uint64_t identity() { return 0; }
    template <class T>
    WR_HD static std::uint64_t map(T x, std::uint64_t) {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
    }
    WR_HD static std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return a + b; }
    WR_HD static std::uint64_t settle(std::uint64_t a) { return a; }
};

// Sums of canonical 31-bit field words. 2^33 of them fit 64 bits; what is larger meets only after `settle`.
struct KoalaBearSum {
    using Accumulator = std::uint64_t;
    static constexpr bool order_free = true;

    WR_HD static std::uint64_t identity() { return 0; }
    WR_HD static std::uint64_t map(KoalaBear x, std::uint64_t) { return x.word; }
    WR_HD static std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return a + b; }
    WR_HD static std::uint64_t settle(std::uint64_t a) { return koalabear_reduce(a); }
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

// Minimum and maximum, both as the maximum of keys: `flip` (all ones for the minimum) turns the order round.
template <class Key>
struct Extreme {
    using Accumulator = Key;
    static constexpr bool order_free = true;
    static constexpr Key nan_key = std::numeric_limits<Key>::max();

    WR_HD static Key identity() { return std::numeric_limits<Key>::min(); }
    WR_HD static Key map_float(float x, std::uint64_t flip) {
        return is_nan(x) ? nan_key : static_cast<Key>(order_key(x) ^ static_cast<std::int32_t>(flip));
    }
    WR_HD static Key map_float(double x, std::uint64_t flip) {
        return is_nan(x) ? nan_key : static_cast<Key>(order_key(x) ^ static_cast<std::int64_t>(flip));
    }
    WR_HD static Key map(float x, std::uint64_t flip) { return map_float(x, flip); }
    WR_HD static Key map(double x, std::uint64_t flip) { return map_float(x, flip); }
    WR_HD static Key map(F16 x, std::uint64_t flip) { return map_float(widen(x), flip); }
    WR_HD static Key map(BF16 x, std::uint64_t flip) { return map_float(widen(x), flip); }
    WR_HD static Key map(std::int32_t x, std::uint64_t flip) { return x ^ static_cast<std::int32_t>(flip); }
    WR_HD static Key map(std::int64_t x, std::uint64_t flip) { return x ^ static_cast<std::int64_t>(flip); }
    WR_HD static Key combine(Key a, Key b) { return larger(a, b); }
    WR_HD static Key settle(Key a) { return a; }
};

// What a partial result goes through on its way to the next stage: it is already mapped.
template <class Op>
struct Partial {
    using Accumulator = typename Op::Accumulator;
    static constexpr bool order_free = Op::order_free;

    WR_HD static Accumulator identity() { return Op::identity(); }
    WR_HD static Accumulator map(Accumulator x, std::uint64_t) { return x; }
    WR_HD static Accumulator combine(Accumulator a, Accumulator b) { return Op::combine(a, b); }
    WR_HD static Accumulator settle(Accumulator a) { return Op::settle(a); }
};

} // namespace wr
