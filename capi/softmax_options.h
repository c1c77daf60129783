// What softmax and its gradient ask of their options alike.
#pragma once

#include "numerics/problem.h"

#include <limits>

namespace wr::capi {

// In integers: the caller's floating-point environment may take subnormal numbers for zero, or trap on a NaN.
inline std::uint64_t magnitude_bits(double scale) { return bit_cast<std::uint64_t>(scale) & ~(std::uint64_t{1} << 63); }

// Whether a scale is finite, and is neither 0 nor infinite in the type that logits are scaled in; 0 stands for 1.
inline bool is_scale(double scale, ElementType type) {
    constexpr auto infinity = bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
    // From here on nearer to infinity than to any f32; up to here no nearer to the smallest f32 than to 0.
    constexpr auto infinite_f32 = bit_cast<std::uint64_t>(0x1.ffffffp127);
    constexpr auto zero_f32 = bit_cast<std::uint64_t>(0x1p-150);
    const std::uint64_t magnitude = magnitude_bits(scale);
    if (magnitude == 0 || type == ElementType::f64) {
        return magnitude < infinity;
    }
    return magnitude > zero_f32 && magnitude < infinite_f32;
}

// The same of one scale for all rows, which must be 0 where each row has its own.
inline bool is_scale(double scale, const void *scales, ElementType type) {
    return scales == nullptr ? is_scale(scale, type) : magnitude_bits(scale) == 0;
}

inline double scale_or_one(double scale) { return magnitude_bits(scale) == 0 ? 1.0 : scale; }

} // namespace wr::capi
