// Prime fields, as canonical words below their primes, and extensions of degree 4.
//
// Words come in as provers keep them: any 64 bits in Goldilocks, where a word of p and more stands for itself less p,
// and p for 0 in Mersenne31. What is made of them is canonical.
//
// KoalaBear and BabyBear words are in Montgomery form (R = 2^32), Mersenne31 and Goldilocks words are plain. A sum is
// the same function of the words in either form, a product is not. Sums of 31-bit words are kept in 64 bits and reduced
// late: Field<Word>::reduce takes any 64-bit value.
#pragma once

#include "numerics/element_types.h"

#include <type_traits>

namespace wr {

template <class Word>
struct Field;

// p below 2^31, Montgomery form.
template <std::uint32_t Prime>
struct MontgomeryField {
    static constexpr std::uint32_t prime = Prime;
    static constexpr std::uint32_t one = static_cast<std::uint32_t>((std::uint64_t{1} << 32) % Prime);

    // -1 / p modulo 2^32, by Newton's iteration: each step doubles the correct low bits.
    static constexpr std::uint32_t negative_inverse() {
        std::uint32_t inverse = Prime;
        for (int step = 0; step < 4; ++step) {
            inverse *= 2u - Prime * inverse;
        }
        return 0u - inverse;
    }

    WR_HD static std::uint32_t reduce(std::uint64_t sum) { return static_cast<std::uint32_t>(sum % Prime); }

    // x / R modulo p, below 2 p, for x below p R (p is below 2^31, so nothing overflows).
    WR_HD static std::uint64_t montgomery(std::uint64_t x) {
        constexpr std::uint32_t factor = negative_inverse();
        const std::uint32_t quotient = static_cast<std::uint32_t>(x) * factor;
        return (x + std::uint64_t{quotient} * Prime) >> 32;
    }

    // a b, below 2 p: to be added up and reduced later.
    WR_HD static std::uint64_t lazy_product(std::uint32_t a, std::uint32_t b) {
        return montgomery(std::uint64_t{a} * b);
    }

    WR_HD static std::uint32_t product(std::uint32_t a, std::uint32_t b) {
        const auto lazy = static_cast<std::uint32_t>(lazy_product(a, b));
        return lazy >= Prime ? lazy - Prime : lazy;
    }
};

template <>
struct Field<KoalaBear> : MontgomeryField<0x7F000001u> {};
template <>
struct Field<BabyBear> : MontgomeryField<0x78000001u> {};

template <>
struct Field<Mersenne31> {
    static constexpr std::uint32_t prime = 0x7FFFFFFFu;
    static constexpr std::uint32_t one = 1;

    WR_HD static std::uint32_t reduce(std::uint64_t sum) { return static_cast<std::uint32_t>(sum % prime); }

    // 2^31 is 1: the upper half is added to the lower.
    WR_HD static std::uint64_t lazy_product(std::uint32_t a, std::uint32_t b) {
        const std::uint64_t whole = std::uint64_t{a} * b;
        return (whole & prime) + (whole >> 31);
    }

    WR_HD static std::uint32_t product(std::uint32_t a, std::uint32_t b) {
        const std::uint64_t lazy = lazy_product(a, b);
        return static_cast<std::uint32_t>(lazy >= prime ? lazy - prime : lazy);
    }
};

template <>
struct Field<Goldilocks> {
    static constexpr std::uint64_t prime = 0xFFFFFFFF00000001u;
    static constexpr std::uint64_t one = 1;
    static constexpr std::uint64_t beyond = 0xFFFFFFFFu; // 2^64 modulo p

    WR_HD static std::uint64_t reduce(std::uint64_t word) { return word >= prime ? word - prime : word; }

    // Of canonical words.
    WR_HD static std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
        const std::uint64_t whole = a + b;
        return whole < a || whole >= prime ? whole - prime : whole;
    }

    // Of any words. 2^64 is 2^32 - 1 and 2^96 is -1: low + middle (2^32 - 1) - high.
    WR_HD_RARE static std::uint64_t product(std::uint64_t a, std::uint64_t b) {
        const std::uint64_t low = a * b, upper = upper_half_of_product(a, b);
        const std::uint64_t high = upper >> 32, middle = (upper & beyond) * beyond;
        const std::uint64_t less = low < high ? low - high - beyond : low - high;
        const std::uint64_t whole = less + middle;
        return reduce(whole < middle ? whole + beyond : whole);
    }

  private:
    WR_HD static std::uint64_t upper_half_of_product(std::uint64_t a, std::uint64_t b) {
#if defined(__CUDA_ARCH__)
        return __umul64hi(a, b);
#else
        __extension__ using Whole = unsigned __int128;
        return static_cast<std::uint64_t>((Whole{a} * b) >> 64);
#endif
    }
};

// The canonical word for one that comes in.
template <class Word>
WR_HD Word canonical(Word x) {
    if constexpr (std::is_same_v<Word, Goldilocks>) {
        return {Field<Goldilocks>::reduce(x.word)};
    } else if constexpr (std::is_same_v<Word, Mersenne31>) {
        return {x.word == Field<Mersenne31>::prime ? 0 : x.word};
    } else {
        return x;
    }
}

// F_p[x] / (x^4 - residue). The residue is a plain integer.
template <class Element>
struct Extension;
template <>
struct Extension<KoalaBearX4> {
    using Word = KoalaBear;
    static constexpr std::uint32_t residue = 3;
};
template <>
struct Extension<BabyBearX4> {
    using Word = BabyBear;
    static constexpr std::uint32_t residue = 11;
};

// The coordinates of a sum of extension elements, reduced late.
struct ExtensionSum {
    std::uint64_t sums[4];
};

// a b, each coordinate below 8 p residue, which is less than 2^38: 2^26 of them fit 64 bits.
template <class Element>
WR_HD_RARE ExtensionSum lazy_product(const Element &a, const Element &b) {
    using Base = Field<typename Extension<Element>::Word>;
    ExtensionSum result{};
    for (int k = 0; k < 4; ++k) {
        std::uint64_t low = 0, high = 0;
        for (int i = 0; i < 4; ++i) {
            const int j = (k - i) & 3;
            const std::uint64_t term = Base::lazy_product(a.words[i].word, b.words[j].word);
            (i <= k ? low : high) += term;
        }
        result.sums[k] = low + high * Extension<Element>::residue;
    }
    return result;
}

template <class Element>
WR_HD Element reduced(const ExtensionSum &sum) {
    using Base = Field<typename Extension<Element>::Word>;
    Element result{};
    for (int k = 0; k < 4; ++k) {
        result.words[k].word = Base::reduce(sum.sums[k]);
    }
    return result;
}

template <class Element>
WR_HD Element extension_product(const Element &a, const Element &b) {
    return reduced<Element>(lazy_product(a, b));
}

template <class Element>
WR_HD Element extension_one() {
    Element one{};
    one.words[0].word = Field<typename Extension<Element>::Word>::one;
    return one;
}

} // namespace wr
