// Sums of squares that never leave the range: numbers of a float's precision and a range of exponents three times as
// wide, after the three accumulators of Blue, "A portable Fortran program to find the Euclidean norm of a vector" (ACM
// TOMS 4, 1978). Where nothing would have left the float's own range the bits are those of plain floats.
#pragma once

#include "numerics/mapping.h"

#include <limits>
#include <type_traits>

namespace wr {

// value 2^(2 range step), not negative, with range -1, 0 or 1. A number has one such form: its value lies below `end`,
// and from `begin` on but in the lowest range. Zeros stand in range 0.
template <class Float>
struct Scaled {
    Float value;
    std::conditional_t<sizeof(Float) == 4, std::int32_t, std::int64_t> range;
};

template <class Float>
struct ScaledRange;
template <>
struct ScaledRange<float> {
    static constexpr float up = 0x1p96f, down = 0x1p-96f; // 2^step
    static constexpr float root_begin = 0x1p-36f, root_end = 0x1p60f;
    static constexpr float least_plain_root = 0x1p-63f; // of the squares that lie in the float's own normal range
};
template <>
struct ScaledRange<double> {
    static constexpr double up = 0x1p750, down = 0x1p-750;
    static constexpr double root_begin = 0x1p-450, root_end = 0x1p300;
    static constexpr double least_plain_root = 0x1p-511;
};
// end 2^(-2 step) is begin: what grows out of a range is at home in the next. And begin is so far above the smallest
// normal number that what a number loses on its way up is nothing to one that is there.
template <class Float>
inline constexpr Float scaled_begin = ScaledRange<Float>::root_begin * ScaledRange<Float>::root_begin;
template <class Float>
inline constexpr Float scaled_end = ScaledRange<Float>::root_end * ScaledRange<Float>::root_end;
static_assert(scaled_end<float> * ScaledRange<float>::down * ScaledRange<float>::down == scaled_begin<float>);
static_assert(scaled_end<double> * ScaledRange<double>::down * ScaledRange<double>::down == scaled_begin<double>);
static_assert(ScaledRange<float>::least_plain_root * ScaledRange<float>::least_plain_root ==
              std::numeric_limits<float>::min());
static_assert(ScaledRange<double>::least_plain_root * ScaledRange<double>::least_plain_root ==
              std::numeric_limits<double>::min());
static_assert(scaled_begin<float> > std::numeric_limits<float>::min() * 0x1p26f);
static_assert(scaled_begin<double> > std::numeric_limits<double>::min() * 0x1p55);

// Of a sum that never left the float's own range.
template <class Float>
WR_HD Scaled<Float> scaled_form(Float sum) {
    using Range = ScaledRange<Float>;
    if (sum >= scaled_end<Float>) {
        return {sum * Range::down * Range::down, 1};
    }
    return sum < scaled_begin<Float> && sum > 0 ? Scaled<Float>{sum * Range::up * Range::up, -1}
                                                : Scaled<Float>{sum, 0};
}

// Of a magnitude beside range 0.
template <class Float>
WR_HD_RARE Scaled<Float> scaled_square_beside(Float magnitude) {
    using Range = ScaledRange<Float>;
    const bool large = magnitude >= Range::root_end;
    const Float x = magnitude * (large ? Range::down : Range::up);
    return {x * x, large ? 1 : -1};
}

template <class Float>
WR_HD Scaled<Float> scaled_square(Float x) {
    using Range = ScaledRange<Float>;
    const Float magnitude = magnitude_of(x);
    const bool beside = magnitude >= Range::root_end || (magnitude < Range::root_begin && magnitude > 0);
    return beside ? scaled_square_beside(magnitude) : Scaled<Float>{magnitude * magnitude, 0};
}

// Of two that lie in different ranges, or whose sum grows out of theirs.
template <class Float>
WR_HD_RARE Scaled<Float> scaled_sum_beside(const Scaled<Float> &a, const Scaled<Float> &b) {
    using Range = ScaledRange<Float>;
    const bool a_is_upper = b.value == 0 || (a.value != 0 && a.range >= b.range);
    const Scaled<Float> upper = a_is_upper ? a : b, lower = a_is_upper ? b : a;
    const auto apart = upper.range - lower.range;
    const Float once = lower.value * Range::down * Range::down;
    const Float sum = upper.value + (lower.value == 0 || apart == 0 ? lower.value : apart == 1 ? once : Float(0));
    if (sum >= scaled_end<Float> && upper.range < 1) {
        return {sum * Range::down * Range::down, upper.range + 1};
    }
    return {sum, upper.range};
}

template <class Float>
WR_HD Scaled<Float> scaled_sum(const Scaled<Float> &a, const Scaled<Float> &b) {
    const Float sum = a.value + b.value;
    const bool beside = a.range != b.range || sum >= scaled_end<Float>;
    return beside ? scaled_sum_beside(a, b) : Scaled<Float>{sum, a.range};
}

// The root, rounded to the float's precision and then into its range.
template <class Float>
WR_HD Float scaled_root(const Scaled<Float> &x) {
    using Range = ScaledRange<Float>;
    const Float root = square_root(magnitude_of(x.value));
    return x.range == 0 ? root : root * (x.range > 0 ? Range::up : Range::down);
}

} // namespace wr
