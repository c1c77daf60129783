// Sums and products of integers that may need more than 64 bits, on their way to a float: kept modulo 2^64, and beside
// that about, as a tree of f64. The two say what the exact number is, as long as the tree is off by less than 2^63.
#pragma once

#include "numerics/host_device.h"

namespace wr {

template <class Float>
struct Counted {
    Float sum;
    std::uint64_t count; // of elements; of integers the low bits
};

// From here on the f64 alone is the result: an exact one would differ from it by no more than its own roundings.
inline constexpr double largest_recovered = 0x1p100;

// A number below 2^128: bits of it from 2^64 on, and below.
struct TwoWords {
    std::uint64_t high, low;
};

WR_HD TwoWords negated(TwoWords x) { return {~x.high + (x.low == 0 ? 1 : 0), 0 - x.low}; }

// The integer nearest to `about`, of a magnitude below largest_recovered, that is `low` modulo 2^64; as a two's
// complement.
WR_HD TwoWords recovered(double about, std::uint64_t low) {
    const double magnitude = about < 0 ? -about : about;
    const auto upper = static_cast<std::uint64_t>(magnitude * 0x1p-64);
    const TwoWords whole{upper, static_cast<std::uint64_t>(magnitude - static_cast<double>(upper) * 0x1p64)};
    const TwoWords near = about < 0 ? negated(whole) : whole;
    const std::uint64_t further = low - near.low; // at most 2^63 up or down
    const std::uint64_t sum = near.low + further;
    const bool is_down = (further >> 63) != 0;
    return {near.high + (sum < near.low ? 1 : 0) - (is_down ? 1 : 0), sum};
}

// Rounded once.
template <class Float>
WR_HD Float rounded(TwoWords x) {
    const bool negative = (x.high >> 63) != 0;
    TwoWords magnitude = negative ? negated(x) : x;
    Float unit = 1;
    if (magnitude.high != 0) {
        unit = static_cast<Float>(0x1p64);
        while ((magnitude.high >> 63) == 0) {
            magnitude = {magnitude.high << 1 | magnitude.low >> 63, magnitude.low << 1};
            unit /= 2;
        }
        // What lies below stands for itself in a bit that no Float has room for.
        magnitude.low = magnitude.high | (magnitude.low != 0 ? 1 : 0);
    }
    const Float value = static_cast<Float>(magnitude.low) * unit;
    return negative ? -value : value;
}

// What a sum or a product of integers comes to.
template <class Float>
WR_HD_RARE Float integer_result(const Counted<double> &x) {
    if (x.sum != x.sum) {
        return 0; // more than f64 holds, times 0
    }
    const double magnitude = x.sum < 0 ? -x.sum : x.sum;
    return magnitude < largest_recovered ? rounded<Float>(recovered(x.sum, x.count)) : static_cast<Float>(x.sum);
}

} // namespace wr
