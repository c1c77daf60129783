// A lane's logits of a tile of 1024 elements, and the extremes of a warp's.
#pragma once

#include "cuda/rowwise/rotated_vectors.cuh"
#include "numerics/operators.h"
#include "numerics/tree.h"

namespace wr::cuda {

__device__ __forceinline__ float larger_with_nan(float a, float b) {
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
}
__device__ __forceinline__ double larger_with_nan(double a, double b) { return larger_or_nan(a, b); }

// Of two numbers the lower one where one is below 0; else what is not below 0 either. As integers without a sign it is
// the larger, and the hardware takes three of these in one instruction.
__device__ __forceinline__ float lower_below_zero(float a, float b) {
    return __uint_as_float(larger(__float_as_uint(a), __float_as_uint(b)));
}
__device__ __forceinline__ double lower_below_zero(double a, double b) { return fmin(a, b); }

// An integer that is ordered as the floats are, a positive NaN (what max.NaN gives) above all; its own inverse.
__device__ __forceinline__ std::int32_t ordered_bits(std::int32_t bits) { return bits ^ ((bits >> 31) & 0x7FFFFFFF); }

// A NaN among the values must be what larger_with_nan gave.
__device__ __forceinline__ float warp_maximum(float value) {
    const std::int32_t largest = __reduce_max_sync(whole_warp, ordered_bits(__float_as_int(value)));
    return __int_as_float(ordered_bits(largest));
}
__device__ __forceinline__ double warp_maximum(double value) {
#pragma unroll
    for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
        value = larger_with_nan(value, from_lane_xor(value, distance));
    }
    return value;
}

// A lane's logits. Wide elements are scaled in place.
template <class T, class Load>
struct Logits {
    using Float = typename SoftmaxArithmetic<T>::Float;
    Float x[lane_elements];

    __device__ __forceinline__ Logits(const SoftmaxArguments &a, const T *data, int count) {
        T raw[lane_elements];
        if constexpr (Load::vectors) {
            uint4 vectors[lane_vectors<T>];
            load_tile_vectors<T, Load>(a, data, count, vectors);
#pragma unroll
            for (int v = 0; v < lane_vectors<T>; ++v) {
                memcpy(raw + v * Load::run, vectors + v, sizeof(uint4));
            }
        } else {
            load_singles(data, a.axis_stride, count, a.scale < 0, raw);
            if constexpr (requires { Load::masked; }) {
                leave_out<T, Load>(a, data, count, raw);
            }
        }
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            x[i] = static_cast<Float>(widen(raw[i]));
        }
        if (a.scaled) {
            const Float scale = static_cast<Float>(a.scale);
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                x[i] = x[i] * scale;
            }
        }
    }

    __device__ __forceinline__ Float operator[](int i) const { return x[i]; }
    __device__ __forceinline__ Float plain_value(int i) const { return x[i]; }

    __device__ __forceinline__ Float maximum() const {
        Float largest = x[0];
#pragma unroll
        for (int i = 1; i < lane_elements; ++i) {
            largest = larger_with_nan(largest, x[i]);
        }
        return largest;
    }

    // Whether all magnitudes are below the bound.
    __device__ __forceinline__ bool within(Float bound) const {
        Float largest = fabs(x[0]);
#pragma unroll
        for (int i = 1; i < lane_elements; ++i) {
            largest = larger_with_nan(largest, fabs(x[i]));
        }
        return largest < bound;
    }

    // The lower one is 0 where no logit is below, and says nothing where there is a NaN.
    __device__ __forceinline__ void extremes(bool, Float &lowest, Float &highest) const {
        highest = maximum();
        Float least = x[0];
#pragma unroll
        for (int i = 1; i < lane_elements; ++i) {
            least = lower_below_zero(least, x[i]);
        }
        lowest = fmin(least, Float(0));
    }
};

__device__ __forceinline__ unsigned larger_pair(unsigned a, unsigned b, F16) {
    unsigned r;
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
__device__ __forceinline__ unsigned larger_pair(unsigned a, unsigned b, BF16) {
    unsigned r;
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
__device__ __forceinline__ unsigned smaller_pair(unsigned a, unsigned b, F16) {
    unsigned r;
    asm("min.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
__device__ __forceinline__ unsigned smaller_pair(unsigned a, unsigned b, BF16) {
    unsigned r;
    asm("min.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

// Of each half the larger magnitude, NaN where one is, with a sign that says nothing.
template <class Half>
__device__ __forceinline__ unsigned larger_magnitudes(unsigned a, unsigned b, Half) {
#if __CUDA_ARCH__ >= 860
    unsigned r;
    if constexpr (std::is_same_v<Half, F16>) {
        asm("max.NaN.xorsign.abs.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    } else {
        asm("max.NaN.xorsign.abs.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    }
    return r;
#else
    constexpr unsigned magnitudes = 0x7FFF7FFF;
    return larger_pair(a & magnitudes, b & magnitudes, Half());
#endif
}

// The larger magnitude of a pair.
template <class Half>
__device__ __forceinline__ float magnitude_of_pair(unsigned pair) {
    return larger_with_nan(fabsf(widen(Half{static_cast<std::uint16_t>(pair & 0xFFFFu)})),
                           fabsf(widen(Half{static_cast<std::uint16_t>(pair >> 16)})));
}

// 16-bit elements stay packed in pairs until their exponentials are formed: half the registers, and half the work for
// the extremes. Rest: anything only off the boundaries.
template <class Half, class Load, Behind Rest = Behind::filler>
struct VectorRowsLogits {
    using Float = float;
    static constexpr int words = lane_elements / 2;
    unsigned pairs[words];
    float scale;  // 1 where not scaled
    int skew = 0; // of a rotated tile; 0 of one in its order

    __device__ __forceinline__ VectorRowsLogits(const SoftmaxArguments &a, const Half *data, int count)
        : scale(a.narrow_scale) {
        uint4 vectors[lane_vectors<Half>];
        if constexpr (is_rotated<Load>) {
            skew = load_rotated_tile(data, count, a.scale < 0, vectors);
        } else if constexpr (Rest == Behind::anything) {
            load_unaligned_tile<Rest>(a.readable_range, a.vector_safe_range, data, count, a.scale < 0, vectors);
        } else {
            load_tile_vectors<Half, Load>(a, data, count, vectors);
        }
#pragma unroll
        for (int v = 0; v < lane_vectors<Half>; ++v) {
            pairs[4 * v] = vectors[v].x;
            pairs[4 * v + 1] = vectors[v].y;
            pairs[4 * v + 2] = vectors[v].z;
            pairs[4 * v + 3] = vectors[v].w;
        }
    }

    __device__ __forceinline__ static float half_of(unsigned pair, int i) {
        return widen(Half{static_cast<std::uint16_t>(i % 2 == 0 ? pair & 0xFFFFu : pair >> 16)});
    }
    __device__ __forceinline__ float plain_value(int i) const { return half_of(pairs[i / 2], i); } // where not scaled
    __device__ __forceinline__ float operator[](int i) const { return plain_value(i) * scale; }

    // Whether all magnitudes are below the bound, where not scaled.
    __device__ __forceinline__ bool within(float bound) const {
        const auto of_vector = [&](int first) { // which come one after the other
            return larger_magnitudes(larger_magnitudes(pairs[first], pairs[first + 1], Half()),
                                     larger_magnitudes(pairs[first + 2], pairs[first + 3], Half()), Half());
        };
        unsigned largest = of_vector(0);
#pragma unroll
        for (int i = 4; i < words; i += 4) {
            largest = larger_magnitudes(largest, of_vector(i), Half());
        }
        return magnitude_of_pair<Half>(largest) < bound;
    }

    // The extremes of the scaled logits: scaling keeps the order or reverses it, and gives NaN for an infinity where it
    // is 0. The lower one says nothing about NaN.
    __device__ __forceinline__ void extremes(bool scaled, float &lowest, float &highest) const {
        unsigned largest = pairs[0], least = pairs[0];
#pragma unroll
        for (int i = 1; i < words; ++i) {
            largest = larger_pair(largest, pairs[i], Half());
            least = smaller_pair(least, pairs[i], Half());
        }
        highest = larger_with_nan(half_of(largest, 0), half_of(largest, 1));
        lowest = fminf(half_of(least, 0), half_of(least, 1));
        if (scaled) {
            const float first = highest * scale, second = lowest * scale;
            highest = larger_with_nan(first, second);
            lowest = fminf(first, second);
        }
    }
};

template <class T, class Load>
inline constexpr bool is_packed = sizeof(T) == 2 && Load::vectors;

// Where a form of the exponential is worth its code that serves tiles in which no element is too small to count.
template <class T, class Load>
inline constexpr bool has_plain_tiles = is_packed<T, Load> || (sizeof(T) == 4 && Load::vectors && !Load::unaligned);

template <class T, class Load, Behind Rest>
struct LogitsFor {
    using Type = Logits<T, Load>;
};
template <class Half, class Load, Behind Rest>
    requires is_packed<Half, Load>
struct LogitsFor<Half, Load, Rest> {
    using Type = VectorRowsLogits<Half, Load, Rest>;
};
template <class T, class Load, Behind Rest = Behind::filler>
using TileLogits = typename LogitsFor<T, Load, Rest>::Type;

} // namespace wr::cuda
