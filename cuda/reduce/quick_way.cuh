// Quick ways of operators, and when they are enough: squares in plain floats, and whether one of them has lost bits:
// the smallest element that is not 0 alone is asked.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "numerics/operators.h"

namespace wr::cuda {

template <class Float>
class PlainSquares {
  public:
    __device__ __forceinline__ explicit PlainSquares(const Mapping &m)
        : for_nan_(m.ignore_nan ? Float(0) : std::numeric_limits<Float>::quiet_NaN()) {}

    // Of an element, or of what a stage has left of several.
    template <class T>
    __device__ __forceinline__ Float of(const T &x, const Mapping &m) {
        if constexpr (std::is_convertible_v<T, Scaled<Float>>) {
            const Scaled<Float> sum = x;
            return sum.range == 0 ? sum.value : std::numeric_limits<Float>::quiet_NaN();
        } else {
            return square(static_cast<Float>(decode(x, m)));
        }
    }

    // The same of an element where any NaN is not enough.
    template <class T>
    __device__ __forceinline__ Float of_number(const T &x, const Mapping &m) {
        if constexpr (std::is_convertible_v<T, Scaled<Float>>) {
            return of(x, m);
        } else {
            const auto value = static_cast<Float>(decode(x, m));
            least_ = smaller(least_, order(magnitude_of(value)));
            return value * value;
        }
    }

    __device__ __forceinline__ bool kept_all_bits() const { return least_ >= order(Range::least_plain_root); }
    __device__ __forceinline__ bool are_enough(Float sum) const {
        return kept_all_bits() && PlainSquareSum<Float>::is_enough(sum);
    }

  private:
    using Range = ScaledRange<Float>;

    // Zeros are last.
    __device__ __forceinline__ static unsigned order(float magnitude) { return bit_cast<unsigned>(magnitude) - 1; }
    __device__ __forceinline__ static unsigned order(double magnitude) {
        const auto bits = bit_cast<std::uint64_t>(magnitude);
        return (static_cast<unsigned>(bits >> 32) | smaller(static_cast<unsigned>(bits), 1u)) - 1;
    }
    __device__ __forceinline__ float square(float x) {
        const float magnitude = fmaxf(fabsf(x), for_nan_);
        least_ = smaller(least_, order(magnitude));
        return magnitude * magnitude;
    }
    __device__ __forceinline__ double square(double x) {
        const double number = is_nan(x) ? for_nan_ : x;
        least_ = smaller(least_, order(magnitude_of(number)));
        return number * number;
    }

    Float for_nan_;
    unsigned least_ = ~0u;
};

// Operators whose accumulators are slow, and plain ones that give the same for nearly all data: these go first, and the
// slow ones again over what they are not enough for.

// Of partial results.
template <class Float>
struct PlainPartialSum : PlainSquareSum<Float> {
    __device__ __forceinline__ static Float map(const Scaled<Float> &x, const Mapping &) {
        return x.range == 0 ? x.value : std::numeric_limits<Float>::quiet_NaN();
    }
};

template <class Op>
struct QuickWay {
    using Operator = Op;
};
template <class Float>
struct QuickWay<ScaledSquareSum<Float>> {
    using Operator = PlainSquareSum<Float>;
};
template <class Float>
struct QuickWay<Partial<ScaledSquareSum<Float>>> {
    using Operator = PlainPartialSum<Float>;
};
template <class Float>
struct QuickWay<Partial<Partial<ScaledSquareSum<Float>>>> : QuickWay<Partial<ScaledSquareSum<Float>>> {};

// The operator itself, where it has no quicker one.
template <class Op>
using QuickOf = typename QuickWay<Op>::Operator;
template <class Op>
inline constexpr bool has_quick_way = !std::is_same_v<QuickOf<Op>, Op>;

// Behind a call, so that the quick way keeps its registers.
template <class Op, class Work>
__device__ __noinline__ typename Op::Accumulator work_again(Work work) {
    return work(Op());
}

// What work(operator) gives for one thread.
template <class Op, class Work>
__device__ __forceinline__ typename Op::Accumulator by_quick_way(const Work &work) {
    const auto result = work(QuickOf<Op>());
    if constexpr (!has_quick_way<Op>) {
        return result;
    } else {
        return QuickOf<Op>::is_enough(result) ? scaled_form(result) : work_again<Op>(work);
    }
}

// The same of work(operator, of), which applies the operator to of(element), and again(operator, of), which does so in
// less code.
template <class Op, class Work>
__device__ __noinline__ typename Op::Accumulator work_on_elements_again(Work work) {
    return work(Op(), [](const auto &x) { return x; });
}
template <class Op, class Work, class Again>
__device__ __forceinline__ typename Op::Accumulator by_plain_squares(const Mapping &m, const Work &work,
                                                                     const Again &again) {
    if constexpr (!has_quick_way<Op>) {
        return work(Op(), [](const auto &x) { return x; });
    } else {
        using Float = typename QuickOf<Op>::Accumulator;
        PlainSquares<Float> squares(m);
        const Float sum = work(FloatSum<Float>(), [&](const auto &x) { return squares.of(x, m); });
        return squares.are_enough(sum) ? scaled_form(sum) : work_on_elements_again<Op>(again);
    }
}
template <class Op, class Work>
__device__ __forceinline__ typename Op::Accumulator by_plain_squares(const Mapping &m, const Work &work) {
    return by_plain_squares<Op>(m, work, work);
}

} // namespace wr::cuda
