// The natural logarithm of a positive normal double, the same bits everywhere, within 1.5 units in the last place of
// the larger of the result and ln 2.
#pragma once

#include "numerics/host_device.h"

namespace wr {

// ln 2 in two pieces; the first ends in 21 zero bits, so that its product with an exponent is exact.
inline constexpr double ln2_high = 0x1.62e42fee00000p-1;
inline constexpr double ln2_low = 0x1.a39ef35793c76p-33;

// log z = 2 atanh((z - 1) / (z + 1)), whose series in t^2 <= 0.0295 needs 11 terms.
WR_HD double logarithm_near_one(double z) {
    const double t = (z - 1.0) / (z + 1.0);
    const double u = t * t;
    double p = 1.0 / 23.0;
    p = fused(p, u, 1.0 / 21.0);
    p = fused(p, u, 1.0 / 19.0);
    p = fused(p, u, 1.0 / 17.0);
    p = fused(p, u, 1.0 / 15.0);
    p = fused(p, u, 1.0 / 13.0);
    p = fused(p, u, 1.0 / 11.0);
    p = fused(p, u, 1.0 / 9.0);
    p = fused(p, u, 1.0 / 7.0);
    p = fused(p, u, 1.0 / 5.0);
    p = fused(p, u, 1.0 / 3.0);
    const double twice = t + t;
    return fused(twice * u, p, twice);
}

WR_HD double natural_logarithm(double x) {
    constexpr std::uint64_t sqrt_half = 0x3FE6A09E667F3BCDu;
    const std::uint64_t bits = bit_cast<std::uint64_t>(x);
    const std::int64_t k = static_cast<std::int64_t>(bits - sqrt_half) >> 52;
    const double z = bit_cast<double>(bits - (static_cast<std::uint64_t>(k) << 52));
    const double exponent = static_cast<double>(k);
    return fused(exponent, ln2_high, fused(exponent, ln2_low, logarithm_near_one(z)));
}

} // namespace wr
