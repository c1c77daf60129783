// Squares in plain floats, and whether one of them has lost bits: the smallest element that is not 0 alone is asked.
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

} // namespace wr::cuda
