// A block of terms into the limbs of an exact sum, by vectors: whatever lies within 2^43 of the largest is added up as
// multiples of one unit in f64, without a rounding; what is left of each term is the next round's. (S. M. Rump,
// T. Ogita, S. Oishi, "Accurate floating-point summation", 2008; J. Demmel, H. D. Nguyen, "Parallel reproducible
// summation", 2015.)
#pragma once

#include "host/common/vectors.h"
#include "numerics/exact_sum.h"

namespace wr::host::WR_ISA {
namespace {

constexpr std::size_t exact_block = 512;

// A round's unit is 2^-43 of what its terms stay below; exact_block of them are then below 2^53 units.
constexpr int exact_round_bits = 43;

// A round of a full block costs as much as so many terms that are added limb by limb.
constexpr std::size_t terms_of_a_round = 4;

using Doubles = Register<double>;
using Patterns = Register<std::int64_t>;

constexpr std::int64_t all_but_the_sign = 0x7FFFFFFFFFFFFFFF;

// Both of the whole block, which is filled up to whole vectors with +0.
struct ExactBlockFacts {
    std::int64_t largest; // magnitude, as a pattern
    bool all_minus_zero;
};

WR_HD ExactBlockFacts facts_of_block(const double *values, std::size_t count) {
    Patterns largest{}, other{};
    std::size_t i = 0;
    for (; i + lanes_of<double> <= count; i += lanes_of<double>) {
        const auto bits = load_vector<Patterns>(values + i);
        const Patterns magnitude = bits & all_but_the_sign;
        largest = magnitude > largest ? magnitude : largest;
        other |= bits ^ ~all_but_the_sign;
    }
    ExactBlockFacts facts{0, true};
    for (std::size_t lane = 0; lane < lanes_of<double>; ++lane) {
        facts.largest = larger<std::int64_t>(facts.largest, largest[lane]);
        facts.all_minus_zero = facts.all_minus_zero && other[lane] == 0;
    }
    for (; i < count; ++i) {
        const auto bits = bit_cast<std::int64_t>(values[i]);
        facts.largest = larger<std::int64_t>(facts.largest, bits & all_but_the_sign);
        facts.all_minus_zero = facts.all_minus_zero && (bits ^ ~all_but_the_sign) == 0;
    }
    return facts;
}

// One round: the sum of what the terms have in whole units of the anchor's last place; the rest of each takes its
// place. `left` says whether there is any.
WR_HD double extract(double *values, std::size_t padded, double anchor, bool &left) {
    Doubles sum{};
    Patterns rest{};
    for (std::size_t i = 0; i < padded; i += lanes_of<double>) {
        const auto value = load_vector<Doubles>(values + i);
        const Doubles units = (value + anchor) - anchor;
        const Doubles remaining = value - units;
        sum += units;
        rest |= bit_cast<Patterns>(remaining);
        store_vector(values + i, remaining);
    }
    double total = 0.0;
    left = false;
    for (std::size_t lane = 0; lane < lanes_of<double>; ++lane) {
        total += sum[lane];
        left = left || (rest[lane] & all_but_the_sign) != 0;
    }
    return total;
}

WR_HD void add_one_by_one(const double *values, std::size_t count, ExactLayout layout, std::int64_t *words) {
    for (std::size_t i = 0; i < count; ++i) {
        add_exactly(words, layout, values[i]);
    }
}

// Terms among which there are infinities or NaNs: those are marked, and 0 takes their place.
WR_HD void mark_specials(double *values, std::size_t count, ExactLayout layout, bool ignore_nan, std::int64_t *words) {
    constexpr std::int64_t infinity = std::int64_t{0x7FF} << 52;
    const std::size_t padded = divide_up(count, lanes_of<double>) * lanes_of<double>;
    for (std::size_t i = count; i < padded; ++i) {
        values[i] = values[0]; // which adds no mark that is not there
    }
    Patterns found[exact_marks] = {};
    for (std::size_t i = 0; i < padded; i += lanes_of<double>) {
        const auto bits = load_vector<Patterns>(values + i);
        const Patterns magnitude = bits & all_but_the_sign, finite = magnitude < infinity;
        const Patterns infinite = magnitude == infinity, minus_zero = bits == ~all_but_the_sign;
        found[static_cast<int>(ExactMark::nan)] |= magnitude > infinity;
        found[static_cast<int>(ExactMark::infinity)] |= infinite & (bits >= 0);
        found[static_cast<int>(ExactMark::minus_infinity)] |= infinite & (bits < 0);
        found[static_cast<int>(ExactMark::minus_zero)] |= minus_zero;
        found[static_cast<int>(ExactMark::number)] |= finite & ~minus_zero;
        store_vector(values + i, bit_cast<Doubles>(bits & finite));
    }
    static_assert(static_cast<int>(ExactMark::nan) == 0);
    for (int kind = ignore_nan ? 1 : 0; kind < exact_marks; ++kind) {
        std::int64_t any = 0;
        for (std::size_t lane = 0; lane < lanes_of<double>; ++lane) {
            any |= found[kind][lane];
        }
        words[layout.limbs + kind] += any != 0;
    }
}

WR_HD void add_rounds(double *values, std::size_t count, std::int64_t largest, ExactLayout layout,
                      std::int64_t *words) {
    const std::size_t padded = divide_up(count, lanes_of<double>) * lanes_of<double>;
    for (std::size_t i = count; i < padded; ++i) {
        values[i] = 0.0;
    }
    // The exponent of 1.5 · 2^52 units, as it is stored: the terms are below 2^(exponent of the largest + 1).
    std::int64_t exponent = (largest >> 52) + 53 - exact_round_bits;
    if (exponent > 2046) {
        add_one_by_one(values, count, layout, words);
        return;
    }
    bool left = largest != 0;
    for (std::size_t round = 0; left; ++round) {
        if (round * terms_of_a_round > count) {
            add_one_by_one(values, count, layout, words);
            return;
        }
        exponent = larger<std::int64_t>(exponent, 1);
        const auto anchor = bit_cast<double>(exponent << 52 | std::int64_t{1} << 51);
        add_exactly(words, layout, extract(values, padded, anchor, left));
        exponent -= exact_round_bits;
    }
}

// `values` has room for whole vectors, and is used up. Limbs take as many blocks as an axis has.
WR_HD void add_block_exactly(double *values, std::size_t count, ExactLayout layout, bool ignore_nan,
                             std::int64_t *words) {
    ExactBlockFacts facts = facts_of_block(values, count);
    if (facts.largest >= std::int64_t{0x7FF} << 52) {
        mark_specials(values, count, layout, ignore_nan, words);
        facts = facts_of_block(values, count);
    } else if (count != 0) {
        words[layout.limbs + static_cast<int>(facts.all_minus_zero ? ExactMark::minus_zero : ExactMark::number)] += 1;
    }
    add_rounds(values, count, facts.largest, layout, words);
}

} // namespace
} // namespace wr::host::WR_ISA
