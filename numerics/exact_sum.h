// Sums without a rounding: integers wide enough for any float of a type, or for any product of two.
//
// A sum is kept in limbs of 64 bits, signed: limb i counts multiples of 2^(lowest + 32 i). A term adds less than 2^32
// to each limb that it meets, so 2^31 terms fit before carries must go up. Behind the limbs stand as many counts as
// there are marks: what kinds of terms there were that an integer does not show. Limbs and counts together are the
// words of a sum. After settle_words each is below 2^32 in magnitude, and up to 2^31 - 1 such sums are merged by adding
// word by word, in any order.
//
// The idea of a wide fixed-point accumulator is Kulisch's; limbs that hold back their carries are those of
// R. M. Neal, "Fast exact summation using small and large superaccumulators", 2015.
#pragma once

#include "numerics/operators.h"
#include "numerics/stored_elements.h"
#include "numerics/wide_integers.h"

namespace wr {

inline constexpr int limb_bits = 32;

// The limbs of the sums of one kind of terms: from below their last bit to 2^75 times the largest of them.
struct ExactLayout {
    int lowest; // the exponent of limb 0
    int limbs;
};
inline constexpr ExactLayout layout_of_narrow_sums{-149, 11};
// A product of two f32 is an f64 without a rounding; 2^-309 has limbs that are those of sums, five further up.
inline constexpr ExactLayout layout_of_narrow_products{-309, 20};
inline constexpr ExactLayout layout_of_f64_sums{-1074, 68};
inline constexpr ExactLayout layout_of_f64_products{-2148, 134};

WR_HD constexpr ExactLayout exact_layout(ElementType type, bool products) {
    if (type == ElementType::f64) {
        return products ? layout_of_f64_products : layout_of_f64_sums;
    }
    return products ? layout_of_narrow_products : layout_of_narrow_sums;
}

inline constexpr int most_limbs = layout_of_f64_products.limbs;

// What kinds of terms there were: bit i of a set of marks, the count behind the limbs.
enum class ExactMark : std::uint32_t {
    nan = 0,
    infinity = 1,
    minus_infinity = 2,
    minus_zero = 3,
    number = 4, // any finite term but -0
};
inline constexpr int exact_marks = 5;
inline constexpr int most_exact_words = most_limbs + exact_marks;

WR_HD constexpr int exact_words(ExactLayout layout) { return layout.limbs + exact_marks; }

WR_HD constexpr std::uint32_t mark(ExactMark kind) { return std::uint32_t{1} << static_cast<std::uint32_t>(kind); }

// Of what is not 0.
WR_HD int leading_zeros(std::uint32_t x) {
#if defined(__CUDA_ARCH__)
    return __clz(static_cast<int>(x));
#else
    return __builtin_clz(x);
#endif
}
WR_HD int leading_zeros(std::uint64_t x) {
    const auto high = static_cast<std::uint32_t>(x >> 32);
    return high != 0 ? leading_zeros(high) : 32 + leading_zeros(static_cast<std::uint32_t>(x));
}

// ---- terms

WR_HD std::uint32_t marks_of_infinity(bool negative) {
    return mark(negative ? ExactMark::minus_infinity : ExactMark::infinity);
}

WR_HD std::uint32_t marks_of(float x) {
    const auto bits = bit_cast<std::uint32_t>(x);
    const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
    if (magnitude >= 0x7F800000u) {
        return magnitude > 0x7F800000u ? mark(ExactMark::nan) : marks_of_infinity(bits != magnitude);
    }
    return mark(bits == 0x80000000u ? ExactMark::minus_zero : ExactMark::number);
}

WR_HD std::uint32_t marks_of(double x) {
    const auto bits = bit_cast<std::uint64_t>(x);
    const std::uint64_t magnitude = bits & 0x7FFFFFFFFFFFFFFFu;
    if (magnitude >= 0x7FF0000000000000u) {
        return magnitude > 0x7FF0000000000000u ? mark(ExactMark::nan) : marks_of_infinity(bits != magnitude);
    }
    return mark(bits == 0x8000000000000000u ? ExactMark::minus_zero : ExactMark::number);
}

// The marks that terms have which are numbers.
inline constexpr std::uint32_t finite_marks = std::uint32_t{1} << static_cast<int>(ExactMark::minus_zero) |
                                              std::uint32_t{1} << static_cast<int>(ExactMark::number);

// Of x·y, whose magnitude may be beyond f64 on either side.
WR_HD std::uint32_t marks_of_product(double x, double y) {
    const std::uint32_t both = marks_of(x) | marks_of(y);
    const bool negative = (bit_cast<std::uint64_t>(x) ^ bit_cast<std::uint64_t>(y)) >> 63 != 0;
    if ((both & ~finite_marks) != 0) {
        const bool no_number = (both & mark(ExactMark::nan)) != 0 || x == 0.0 || y == 0.0; // infinity times 0 is none
        return no_number ? mark(ExactMark::nan) : marks_of_infinity(negative);
    }
    return mark(negative && (x == 0.0 || y == 0.0) ? ExactMark::minus_zero : ExactMark::number);
}

WR_HD std::int64_t signed_digit(std::uint32_t digit, bool negative) {
    const auto value = static_cast<std::int64_t>(digit);
    return negative ? -value : value;
}

// Finite x. `limbs[i]` is limb i, wherever it lies.
template <class Limbs>
WR_HD void add_exactly(Limbs limbs, ExactLayout, float x) {
    const auto bits = bit_cast<std::uint32_t>(x);
    const std::uint32_t exponent = bits >> 23 & 0xFFu;
    const std::uint32_t significand = (bits & 0x7FFFFFu) | (exponent != 0 ? 0x800000u : 0u);
    const std::uint32_t place = exponent != 0 ? exponent - 1 : 0;
    const std::uint64_t shifted = static_cast<std::uint64_t>(significand) << (place % limb_bits);
    const auto limb = static_cast<int>(place / limb_bits);
    const bool negative = bits >> 31 != 0;
    limbs[limb] += signed_digit(static_cast<std::uint32_t>(shifted), negative);
    limbs[limb + 1] += signed_digit(static_cast<std::uint32_t>(shifted >> limb_bits), negative);
}

// Finite x, whose last significant bit is no lower than 2^lowest.
template <class Limbs>
WR_HD void add_exactly(Limbs limbs, ExactLayout layout, double x) {
    const auto bits = bit_cast<std::uint64_t>(x);
    const auto exponent = static_cast<int>(bits >> 52 & 0x7FFu);
    std::uint64_t significand = (bits & 0xFFFFFFFFFFFFFu) | (exponent != 0 ? std::uint64_t{1} << 52 : std::uint64_t{0});
    const int above = (exponent != 0 ? exponent - 1 : 0) - 1074 - layout.lowest;
    if (layout.lowest > layout_of_f64_sums.lowest && above < 0) {
        significand = above > -64 ? significand >> -above : 0; // those bits are zero
    }
    const auto place = static_cast<std::uint32_t>(larger(above, 0));
    const std::uint32_t shift = place % limb_bits;
    const auto limb = static_cast<int>(place / limb_bits);
    const bool negative = bits >> 63 != 0;
    const std::uint64_t low = (significand & 0xFFFFFFFFu) << shift;
    const std::uint64_t high = (significand >> limb_bits << shift) + (low >> limb_bits);
    limbs[limb] += signed_digit(static_cast<std::uint32_t>(low), negative);
    limbs[limb + 1] += signed_digit(static_cast<std::uint32_t>(high), negative);
    limbs[limb + 2] += signed_digit(static_cast<std::uint32_t>(high >> limb_bits), negative);
}

// count · 2^exponent.
template <class Limbs>
WR_HD void add_exactly(Limbs limbs, ExactLayout layout, std::int64_t count, int exponent) {
    const auto place = static_cast<std::uint32_t>(exponent - layout.lowest), shift = place % limb_bits;
    const auto limb = static_cast<int>(place / limb_bits);
    const std::uint64_t low = (static_cast<std::uint64_t>(count) & 0xFFFFFFFFu) << shift;
    const std::int64_t upper = count >> limb_bits;
    const std::int64_t middle = (upper & ((std::int64_t{1} << (limb_bits - shift)) - 1)) << shift;
    limbs[limb] += static_cast<std::int64_t>(low & 0xFFFFFFFFu);
    limbs[limb + 1] += static_cast<std::int64_t>(low >> limb_bits) + middle;
    limbs[limb + 2] += upper >> (limb_bits - shift);
}

struct Significand {
    std::uint64_t bits;
    int place; // of its last bit, above 2^-1074
};
WR_HD Significand significand_of(double x) {
    const auto bits = bit_cast<std::uint64_t>(x);
    const auto exponent = static_cast<int>(bits >> 52 & 0x7FFu);
    const std::uint64_t fraction = bits & 0xFFFFFFFFFFFFFu;
    return exponent != 0 ? Significand{fraction | std::uint64_t{1} << 52, exponent - 1} : Significand{fraction, 0};
}

// x·y of finite f64, into limbs of layout_of_f64_products.
template <class Limbs>
WR_HD void add_product_exactly(Limbs limbs, double x, double y) {
    const Significand a = significand_of(x), b = significand_of(y);
    const bool negative = (bit_cast<std::uint64_t>(x) ^ bit_cast<std::uint64_t>(y)) >> 63 != 0;
    const std::uint64_t a0 = a.bits & 0xFFFFFFFFu, a1 = a.bits >> 32, b0 = b.bits & 0xFFFFFFFFu, b1 = b.bits >> 32;
    const std::uint64_t low = a0 * b0, middle = a1 * b0 + (low >> 32), cross = a0 * b1 + (middle & 0xFFFFFFFFu);
    const std::uint64_t high = a1 * b1 + (middle >> 32) + (cross >> 32);
    const std::uint32_t words[4] = {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(cross),
                                    static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)};
    const auto place = static_cast<std::uint32_t>(a.place + b.place);
    const auto limb = static_cast<int>(place / limb_bits);
    std::uint64_t carried = 0;
    for (int i = 0; i < 4; ++i) {
        const std::uint64_t shifted = (static_cast<std::uint64_t>(words[i]) << (place % limb_bits)) + carried;
        limbs[limb + i] += signed_digit(static_cast<std::uint32_t>(shifted), negative);
        carried = shifted >> limb_bits;
    }
    limbs[limb + 4] += signed_digit(static_cast<std::uint32_t>(carried), negative);
}

// ---- the words of a sum

// Carries go up: each limb but the last is then from 0 to 2^32 - 1, the last has the sign; counts become 0 or 1.
template <class Words>
WR_HD void settle_words(Words words, ExactLayout layout) {
    std::int64_t carry = 0;
    int word = 0;
    for (; word + 1 < layout.limbs; ++word) {
        const std::int64_t sum = words[word] + carry;
        words[word] = sum & 0xFFFFFFFF;
        carry = sum >> limb_bits;
    }
    words[word] += carry;
    for (++word; word < exact_words(layout); ++word) {
        words[word] = words[word] != 0 ? 1 : 0;
    }
}

// The digits of the magnitude of a settled sum, from the top.
template <class Words>
struct Magnitude {
    Words words;
    int lowest_digit; // no digit below it differs from 0
    bool negative;

    // Of a negative sum the complement, plus the one that reaches no further than the lowest digit.
    WR_HD std::uint32_t digit(int i) const {
        if (i < lowest_digit) {
            return 0;
        }
        const auto stored = static_cast<std::uint32_t>(words[i]);
        return !negative ? stored : i == lowest_digit ? 0u - stored : ~stored;
    }
};

// What lies between two f64: to the nearest, the even one of two; or to the odd one, from which a narrower format is
// then rounded as from the exact value.
enum class ExactRounding { to_nearest, to_odd };

// The 64 bits of `leading`, the first of which is 1 and counts 2^exponent, and whether there is more below them.
WR_HD std::uint64_t round_exactly(std::uint64_t leading, int exponent, bool more, ExactRounding rounding) {
    constexpr int smallest_normal = -1022;
    if (exponent > 1023) {
        return 0x7FF0000000000000u;
    }
    const int dropped = 11 + (exponent < smallest_normal ? smallest_normal - exponent : 0);
    const std::uint64_t kept = dropped < 64 ? leading >> dropped : 0;
    const bool half = dropped <= 64 && (leading >> (dropped - 1) & 1u) != 0;
    const bool below_half = more || (dropped <= 64 ? leading << (65 - dropped) != 0 : true);
    const bool up = rounding == ExactRounding::to_nearest ? half && (below_half || (kept & 1u) != 0)
                                                          : (kept & 1u) == 0 && (half || below_half);
    const auto steps = static_cast<std::uint64_t>(exponent < smallest_normal ? 0 : exponent - smallest_normal);
    return (steps << 52) + kept + (up ? 1u : 0u);
}

// The value of a settled sum whose terms were all numbers.
template <class Words>
WR_HD double rounded_sum(Words words, ExactLayout layout, ExactRounding rounding) {
    const int top = layout.limbs - 1;
    const Magnitude<Words> all{words, 0, words[top] < 0};
    int lowest = 0;
    while (lowest < top && words[lowest] == 0) {
        ++lowest;
    }
    const Magnitude<Words> digits{words, lowest, all.negative};
    int first = top;
    while (first > lowest && digits.digit(first) == 0) {
        --first;
    }
    const std::uint32_t leading_digit = digits.digit(first);
    if (leading_digit == 0) {
        return 0.0;
    }
    const int zeros = leading_zeros(leading_digit);
    const std::uint64_t two = static_cast<std::uint64_t>(leading_digit) << 32 | digits.digit(first - 1);
    const std::uint64_t third = static_cast<std::uint64_t>(digits.digit(first - 2)) << zeros;
    const std::uint64_t bits = round_exactly(two << zeros | third >> 32, layout.lowest + limb_bits * first + 31 - zeros,
                                             (third & 0xFFFFFFFFu) != 0 || lowest < first - 2, rounding);
    return bit_cast<double>(bits | (digits.negative ? std::uint64_t{1} << 63 : std::uint64_t{0}));
}

WR_HD TwoWords shifted_left(TwoWords x, int bits) {
    if (bits >= 64) {
        return {x.low << (bits - 64), 0};
    }
    return bits == 0 ? x : TwoWords{x.high << bits | x.low >> (64 - bits), x.low << bits};
}

// Two's complements.
WR_HD TwoWords sum_of(TwoWords a, std::int64_t b) {
    const std::uint64_t low = a.low + static_cast<std::uint64_t>(b);
    return {a.high + static_cast<std::uint64_t>(b >> 63) + (low < a.low ? 1 : 0), low};
}

// The same of a sum as a two's complement that counts 2^lowest.
WR_HD double rounded_sum(TwoWords sum, int lowest, ExactRounding rounding) {
    const bool negative = sum.high >> 63 != 0;
    const TwoWords magnitude = negative ? negated(sum) : sum;
    if ((magnitude.high | magnitude.low) == 0) {
        return 0.0;
    }
    const int zeros = magnitude.high != 0 ? leading_zeros(magnitude.high) : 64 + leading_zeros(magnitude.low);
    const TwoWords leading = shifted_left(magnitude, zeros);
    const std::uint64_t bits = round_exactly(leading.high, lowest + 127 - zeros, leading.low != 0, rounding);
    return bit_cast<double>(bits | (negative ? std::uint64_t{1} << 63 : std::uint64_t{0}));
}

// Writes a sum whose terms have these marks, and whose numbers add up to `value`, as element `index` of the output.
WR_HD void store_exactly(double value, std::uint32_t marks, ElementType type, void *output, std::size_t index) {
    const bool plus = (marks & mark(ExactMark::infinity)) != 0;
    const bool minus = (marks & mark(ExactMark::minus_infinity)) != 0;
    if ((marks & mark(ExactMark::nan)) != 0 || (plus && minus)) {
        value = bit_cast<double>(canonical_nan_f64);
    } else if (plus || minus) {
        value = bit_cast<double>(plus ? std::uint64_t{0x7FF0000000000000u} : std::uint64_t{0xFFF0000000000000u});
    } else if (value == 0.0 && (marks & finite_marks) == mark(ExactMark::minus_zero)) {
        value = -0.0;
    }
    store_float(value, type, output, index);
}

WR_HD ExactRounding rounding_before(ElementType type) {
    return type == ElementType::f64 ? ExactRounding::to_nearest : ExactRounding::to_odd;
}

// Settles the words and writes the sum as element `index` of the output.
template <class Words>
WR_HD void finish_exactly(Words words, ExactLayout layout, ElementType type, void *output, std::size_t index) {
    settle_words(words, layout);
    std::uint32_t marks = 0;
    for (int kind = 0; kind < exact_marks; ++kind) {
        marks |= (words[layout.limbs + kind] != 0 ? 1u : 0u) << kind;
    }
    const double value = (marks & ~finite_marks) != 0 ? 0.0 : rounded_sum(words, layout, rounding_before(type));
    store_exactly(value, marks, type, output, index);
}

WR_HD void finish_exactly(TwoWords sum, int lowest, std::uint32_t marks, ElementType type, void *output,
                          std::size_t index) {
    store_exactly(rounded_sum(sum, lowest, rounding_before(type)), marks, type, output, index);
}

} // namespace wr
