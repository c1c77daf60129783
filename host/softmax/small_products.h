// Products with numbers below or near the end of the normal range at full speed, with the bits of a plain product; see
// small_outputs.h for how.
#pragma once

#include "host/softmax/small_outputs.h"

namespace wr::host::WR_ISA {
namespace {

// Lifted, a factor of magnitude below 1 stays far from overflow, and so does a product with another below this.
template <class Float>
constexpr Float lifted_factor_end = 1 / std::numeric_limits<Float>::epsilon();

template <class Float>
WR_HD Float small_product(Float small, Float other) {
    using Range = LiftedRange<Float>;
    using Bits = typename Range::Bits;
    constexpr int digits = std::numeric_limits<Float>::digits - 1; // of the stored mantissa
    constexpr Bits sign_bit = Bits(1) << (8 * sizeof(Bits) - 1), first_normal = Bits(1) << digits;
    constexpr Float least = std::numeric_limits<Float>::denorm_min() * Range::lift;
    constexpr Float lowest_normal = std::numeric_limits<Float>::min() * Range::lift;
    const Bits sign = (bit_cast<Bits>(small) ^ bit_cast<Bits>(other)) & sign_bit;
    const Bits bits = bit_cast<Bits>(small) & ~sign_bit;
    const Float factor = bit_cast<Float>(bit_cast<Bits>(other) & ~sign_bit);
    const bool lifts = bits < bit_cast<Bits>(Float(1)) && factor < lifted_factor_end<Float>;
    // A subnormal number is as many of the least one as its bits say.
    const Float counted = static_cast<Float>(static_cast<std::make_signed_t<Bits>>(bits)) * least;
    const Float lifted = bits < first_normal ? counted : bit_cast<Float>(bits + Range::lift_in_exponent);
    const Float product = (lifts ? lifted : Float(1)) * factor;
    const Bits below =
        bit_cast<Bits>(fused(lifts ? lifted : Float(1), factor, lowest_normal)) - bit_cast<Bits>(lowest_normal);
    const Bits lowered = product < lowest_normal ? below : bit_cast<Bits>(product) - Range::lift_in_exponent;
    const Float plain = (lifts ? Float(1) : small) * other;
    return lifts ? bit_cast<Float>(lowered | sign) : plain;
}

// Products of smaller factors with common numbers may be below the normal range.
template <class Float>
constexpr Float least_common_factor =
    std::numeric_limits<Float>::min() * (sizeof(Float) == 4 ? Float(0x1p30f) : static_cast<Float>(0x1p120));

// Whether some are so small that their products with common numbers are below the normal range; those of 0 are not.
template <class Float>
bool any_small_factor(std::size_t count, const Float *factors) {
    using Bits = typename LiftedRange<Float>::Bits;
    return least_magnitude(count, factors) < bit_cast<Bits>(least_common_factor<Float>) - 1;
}

// small * others * scale. Rare, and as long as all the rest.
template <class Float>
__attribute__((noinline)) void multiply_small(std::size_t count, const Float *small, const Float *others, Float scale,
                                              Float *products) {
    for (std::size_t i = 0; i < count; ++i) {
        products[i] = small_product(small[i], others[i]);
    }
    for (std::size_t i = 0; scale != Float(1) && i < count; ++i) {
        products[i] = small_product(products[i], scale);
    }
}

} // namespace
} // namespace wr::host::WR_ISA
