// What softmax and its gradient ask of their options alike.
#pragma once

#include "numerics/problem.h"

#include <cmath>

namespace wr::capi {

// Whether a scale is finite, and is neither 0 nor infinite in the type that logits are scaled in; 0 stands for 1.
inline bool is_scale(double scale, ElementType type) {
    constexpr double rounds_to_infinite_f32 = 0x1.ffffffp127; // from here on nearer to infinity than to any f32
    constexpr double rounds_to_zero_f32 = 0x1p-150;           // up to here no nearer to the smallest f32
    if (scale == 0.0 || type == ElementType::f64) {
        return std::isfinite(scale);
    }
    const double magnitude = std::fabs(scale);
    return magnitude > rounds_to_zero_f32 && magnitude < rounds_to_infinite_f32;
}

inline double scale_or_one(double scale) { return scale == 0.0 ? 1.0 : scale; }

} // namespace wr::capi
