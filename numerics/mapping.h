// What an operator's map is told at run time, the same for every element of a call, and reading an element by it.
#pragma once

#include "numerics/float_formats.h"

namespace wr {

struct Mapping {
    std::uint64_t flip;         // extremes: bits turned over in a key; bit operators: in an element
    std::uint64_t sign_bit;     // of a signed integer element; 0 for an unsigned one
    std::uint64_t counted_bits; // counts: the bits that make an element differ from zero
    std::uint64_t other_zero;   // counts: bits that stand for zero too; 0 where there are none
    std::uint64_t counted_most; // counts: a pattern of these bits beyond it is a NaN to be ignored
    const void *weights;        // along the axis, or nullptr
    ElementType type;           // of the elements, where the storage leaves it open
    bool absolute, square, ignore_nan;
    bool count_zeros; // counts: what is zero instead of what is not
};

WR_HD float decode(float x, const Mapping &) { return x; }
WR_HD double decode(double x, const Mapping &) { return x; }
WR_HD float decode(F16 x, const Mapping &) { return widen(x); }
WR_HD float decode(BF16 x, const Mapping &) { return widen(x); }
WR_HD float decode(E4M3 x, const Mapping &) { return widen(x); }
WR_HD float decode(E5M2 x, const Mapping &) { return widen(x); }
WR_HD float decode(AnyFloat16 x, const Mapping &m) {
    return m.type == ElementType::bf16 ? widen(BF16{x.bits}) : widen(F16{x.bits});
}
WR_HD float decode(AnyFloat8 x, const Mapping &m) {
    return m.type == ElementType::f8_e4m3 ? widen(E4M3{x.bits}) : widen(E5M2{x.bits});
}

// An integer element of any width and either sign, modulo 2^64.
template <class Unsigned>
WR_HD std::uint64_t decode_integer(Unsigned x, const Mapping &m) {
    return (std::uint64_t{x} ^ m.sign_bit) - m.sign_bit;
}

WR_HD std::uint64_t magnitude_of(std::uint64_t x) { return (x >> 63) != 0 ? 0 - x : x; }

WR_HD float magnitude_of(float x) { return bit_cast<float>(bit_cast<std::uint32_t>(x) & 0x7FFFFFFFu); }
WR_HD double magnitude_of(double x) { return bit_cast<double>(bit_cast<std::uint64_t>(x) & 0x7FFFFFFFFFFFFFFFu); }

} // namespace wr
