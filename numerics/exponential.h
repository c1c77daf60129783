// The one exponential: exp(x) = p * 2^n with n = rint(x * log2 e) and p a polynomial, in fused multiply-adds.
//
// Nothing is subtracted from x first, so the error does not grow with the distance to the maximum. A frame fixes N for
// a base block; folding N into the rounding constant makes the scaling by 2^(n - N) one integer addition.
// docs/numerics.md derives the constants and the bounds.
#pragma once

#include "numerics/float_formats.h"

#include <limits>

namespace wr {

template <class Float>
struct ExponentialConstants;

template <>
struct ExponentialConstants<float> {
    using Bits = std::uint32_t;
    static constexpr int mantissa_bits = 23;
    static constexpr float magic = 12582912.0f;         // 1.5 * 2^23: adding it rounds to an integer
    static constexpr float log2e_high = 0x1.715476p+0f; // log2 e rounded to f32
    static constexpr float log2e_low = 0x1.4ae0cp-26f;  // the rest of it
    static constexpr float reach = 86.0f;               // exp(-reach) and all above it is normal in a frame
    // scaled_exponential of this logit is +0 in every frame: where -infinity stood nothing has to be asked. So large
    // that the frame is lost in rounding; what is left of it lets the polynomial overflow to 0x7F800000, and the steps
    // are 0x80800000. A bf16 number.
    static constexpr float vanishing = -0x1.84p+80f;
};

template <>
struct ExponentialConstants<double> {
    using Bits = std::uint64_t;
    static constexpr int mantissa_bits = 52;
    static constexpr double magic = 6755399441055744.0; // 1.5 * 2^52
    static constexpr double log2e_high = 0x1.71547652b82fep+0;
    static constexpr double log2e_low = 0x1.777d0ffda0d24p-56;
    static constexpr double reach = 708.0;
};

// 2^r for |r| up to 0.521, the coefficient of the highest power first. Chosen over every f32 argument, the roundings of
// the evaluation included.
WR_HD float exp2_polynomial(float r) {
    float p = 0x1.47977cp-13f;
    p = fused(p, r, 0x1.5f87dcp-10f);
    p = fused(p, r, 0x1.3b2546p-7f);
    p = fused(p, r, 0x1.c6ae0cp-5f);
    p = fused(p, r, 0x1.ebfbecp-3f);
    p = fused(p, r, 0x1.62e432p-1f);
    return fused(p, r, 1.0f);
}

// The minimax polynomial of degree 12; its own error is 0.1 of a rounding.
WR_HD double exp2_polynomial(double r) {
    double p = 0x1.c6d9963b37ba6p-36;
    p = fused(p, r, 0x1.ea14217bbfb65p-32);
    p = fused(p, r, 0x1.e4cd9d8260277p-28);
    p = fused(p, r, 0x1.b524d0eb6c041p-24);
    p = fused(p, r, 0x1.62c0229a6571fp-20);
    p = fused(p, r, 0x1.ffcbfc7ac2ec9p-17);
    p = fused(p, r, 0x1.430912f85994p-13);
    p = fused(p, r, 0x1.5d87fe78a130fp-10);
    p = fused(p, r, 0x1.3b2ab6fba4ea8p-7);
    p = fused(p, r, 0x1.c6b08d704a0d6p-5);
    p = fused(p, r, 0x1.ebfbdff82c58ep-3);
    p = fused(p, r, 0x1.62e42fefa39efp-1);
    return fused(p, r, 1.0);
}

// rint(x * log2 e) for |x| < 2^20.
template <class Float>
WR_HD std::int32_t nearest_exponent(Float x) {
    using C = ExponentialConstants<Float>;
    const auto rounded = bit_cast<typename C::Bits>(fused(x, C::log2e_high, C::magic));
    return static_cast<std::int32_t>(rounded - bit_cast<typename C::Bits>(C::magic));
}

// exp(x) * 2^-N, where magic_less_n is the rounding constant less N. Needs |x| < 2^20 and a result in the normal range.
template <class Float>
WR_HD Float scaled_exponential(Float x, Float magic_less_n) {
    using C = ExponentialConstants<Float>;
    const Float rounded = fused(x, C::log2e_high, magic_less_n);
    const Float n = rounded - magic_less_n;
    const Float r = fused(x, C::log2e_low, fused(x, C::log2e_high, -n));
    const auto steps = bit_cast<typename C::Bits>(rounded) << C::mantissa_bits;
    return bit_cast<Float>(bit_cast<typename C::Bits>(exp2_polynomial(r)) + steps);
}

// 2^k for k <= 0; 0 where it would leave the normal range by so much that it could not matter in any sum it enters.
WR_HD float power_of_two_f32(std::int32_t k) {
    return k < -126 ? 0.0f : bit_cast<float>(static_cast<std::uint32_t>(k + 127) << 23);
}
WR_HD double power_of_two_f64(std::int32_t k) {
    return k < -1000 ? 0.0 : bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52);
}

// e^m = factor * 2^exponent for any finite m, factor in [0.7, 1.42]. From 2^62 on, where neighbouring values of m lie
// further apart than any sum can notice, the factor is 1 and the exponent the limit: only equal maxima meet there.
struct LargeExponential {
    std::int64_t exponent;
    double factor;
};

WR_HD_RARE LargeExponential large_exponential(double m) {
    constexpr double limit = 0x1p62;
    if (!(m < limit && m > -limit)) {
        return {m > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min(), 1.0};
    }
    // log2 e in three pieces, so that the fraction of m * log2 e keeps its 53 bits below an integer part of 63.
    constexpr double first = 0x1.71547652b82fep+0, second = 0x1.777d0ffda0d24p-56, third = -0x1.60bb8a5442ab9p-110;
    const double high = m * first, high_rest = fused(m, first, -high);
    const double middle = m * second, middle_rest = fused(m, second, -middle);
    const double a = __builtin_rint(high), b = __builtin_rint(high_rest), c = __builtin_rint(middle);
    double fraction = ((high - a) + (high_rest - b)) + ((middle - c) + (middle_rest + m * third));
    const double d = __builtin_rint(fraction);
    fraction = fraction - d;
    return {static_cast<std::int64_t>(a) + static_cast<std::int64_t>(b) + static_cast<std::int64_t>(c + d),
            exp2_polynomial(fraction)};
}

} // namespace wr
