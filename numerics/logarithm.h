// The natural logarithm of a quotient of sums in pieces, the same bits everywhere. The quotient itself is never formed:
// near 1 the difference of the two is exact, and one division serves the whole. docs/numerics.md has the error bounds.
#pragma once

#include "numerics/exponential.h"

#include <type_traits>

namespace wr {

// ln 2 in two pieces; the first has so few bits that its product with the exponent of any sum is exact.
template <class Float>
struct Ln2;
template <>
struct Ln2<float> {
    static constexpr float high = 0x1.62e4p-1f;
    static constexpr float low = 0x1.7f7d1cp-20f;
};
template <>
struct Ln2<double> {
    static constexpr double high = 0x1.62e42feep-1;
    static constexpr double low = 0x1.a39ef35793c76p-33;
};

// (atanh(t) / t - 1) / t^2 of v = t^2 up to 0.0402, minimax in what it adds to 1: 2^-35 and 2^-62.
WR_HD float atanh_polynomial(float v) {
    float q = 0x1.edb11p-4f;
    q = fused(q, v, 0x1.23e866p-3f);
    q = fused(q, v, 0x1.999be2p-3f);
    return fused(q, v, 0x1.555554p-2f);
}
WR_HD double atanh_polynomial(double v) {
    double q = 0x1.1b974a095e453p-4;
    q = fused(q, v, 0x1.0dc85233f9fc5p-4);
    q = fused(q, v, 0x1.3b35f38c40954p-4);
    q = fused(q, v, 0x1.745c49437b40fp-4);
    q = fused(q, v, 0x1.c71c7496c7be2p-4);
    q = fused(q, v, 0x1.24924921dc05cp-3);
    q = fused(q, v, 0x1.999999999c20dp-3);
    return fused(q, v, 0x1.555555555554fp-2);
}

// whole + near + rest: a multiple of ln 2, without its low piece; twice t, rounded; and all that these lack.
template <class Float>
struct Logarithm {
    Float whole, near, rest;
};

// log(sum / unit) of positive normal numbers whose quotient is above 2^-32 and below 2^64: log 2^k + 2 atanh t with
// t = (s - unit) / (s + unit) and s = sum 2^-k between 0.66 and 1.51 units.
template <class Float, class Sum>
WR_HD Logarithm<Float> logarithm_of_quotient(Sum sum, Sum unit) {
    using C = ExponentialConstants<Sum>;
    using Bits = typename C::Bits;
    constexpr Bits one = Bits(1) << C::mantissa_bits;
    // What bits say as integers is the binary logarithm but for 0.086 at most.
    const Bits gap = bit_cast<Bits>(sum) - bit_cast<Bits>(unit) + one / 2;
    const auto k = static_cast<std::int32_t>(static_cast<std::make_signed_t<Bits>>(gap) >> C::mantissa_bits);
    const Sum s = bit_cast<Sum>(bit_cast<Bits>(sum) - (static_cast<Bits>(k) << C::mantissa_bits));
    const Sum t = (s - unit) / (s + unit);
    const Float high = static_cast<Float>(t);
    const Float low = static_cast<Float>(t - static_cast<Sum>(high));
    const Float near = high + high;
    const Float v = high * high;
    const Float rest = fused(near * v, atanh_polynomial(v), low + low);
    const Float exponent = static_cast<Float>(k);
    return {exponent * Ln2<Float>::high, near, fused(exponent, Ln2<Float>::low, rest)};
}

} // namespace wr
