// Division of small numbers by one known at launch, in a multiplication and a shift.
#pragma once

#include "numerics/host_device.h"

#include <bit>
#include <cstdint>

namespace wr::cuda {

// Exact for dividends below 2^15 and divisors from 1 to 2^15: the multiplier exceeds 2^shift / divisor by less than 1,
// which makes a quotient too large by less than 2^15 / 2^shift <= 1 / divisor.
struct SmallDivisor {
    std::uint32_t divisor, multiplier, shift;

    WR_HD std::uint32_t divide(std::uint32_t dividend) const { return dividend * multiplier >> shift; }
};

inline SmallDivisor small_divisor(std::uint32_t divisor) {
    const auto shift = static_cast<std::uint32_t>(15 + std::bit_width(divisor - 1));
    return {divisor, static_cast<std::uint32_t>(((std::uint64_t{1} << shift) + divisor - 1) / divisor), shift};
}

} // namespace wr::cuda
