// What the kernels of short rows share: logits and exponentials of one 16-byte vector, and the rare row that one warp
// takes by itself.
#pragma once

#include "cuda/rowwise/staged_access.cuh"
#include "cuda/softmax/kernels.h"
#include "cuda/softmax/outputs.cuh"

namespace wr::cuda {

inline constexpr int short_row_warps = static_cast<int>(softmax_short_row_warps); // of a block

// The rows of a warp that takes up to so many. Computed from the special registers again wherever they are wanted: a
// pointer that waits through the arithmetic is spilled beside the loads, which then wait for it (bf16 of 128: 3.94 TB/s
// on an H200 with two words spilled there, 4.10 without).
struct WarpRows {
    std::uint64_t first;
    int count;

    __device__ __forceinline__ WarpRows(const SoftmaxArguments &a, int most) : WarpRows(a.outer, most) {}
    __device__ __forceinline__ WarpRows(std::size_t rows, int most) {
        unsigned block, thread;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
        asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
        first =
            (block * static_cast<std::uint64_t>(short_row_warps) + thread / warp_lanes) * static_cast<unsigned>(most);
        count = first < rows ? static_cast<int>(smaller<std::uint64_t>(rows - first, most)) : 0;
    }

    template <class T>
    __device__ __forceinline__ const T *input(const SoftmaxArguments &a) const {
        return static_cast<const T *>(a.input) + first * static_cast<std::uint32_t>(a.axis);
    }
    template <class T>
    __device__ __forceinline__ T *output(const SoftmaxArguments &a) const {
        return static_cast<T *>(a.output) + first * static_cast<std::uint32_t>(a.axis);
    }
};

template <class Value>
struct LargestWithNan {
    using Accumulator = Value;
    __device__ __forceinline__ static Value combine(Value a, Value b) { return larger_with_nan(a, b); }
};

__device__ __forceinline__ float element_of(const uint4 &v, int i, float) {
    return __uint_as_float(i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w);
}
__device__ __forceinline__ double element_of(const uint4 &v, int i, double) {
    return i == 0 ? __hiloint2double(static_cast<int>(v.y), static_cast<int>(v.x))
                  : __hiloint2double(static_cast<int>(v.w), static_cast<int>(v.z));
}
template <class Half>
__device__ __forceinline__ float element_of(const uint4 &v, int i, Half) {
    const unsigned pair = i < 2 ? v.x : i < 4 ? v.y : i < 6 ? v.z : v.w;
    return widen(Half{static_cast<std::uint16_t>(i % 2 == 0 ? pair & 0xFFFFu : pair >> 16)});
}

// Wide elements are scaled in place.
template <class T>
__device__ __forceinline__ void scale_vector(uint4 &v, T scale) {
    T x[vector_elements<T>];
    memcpy(x, &v, sizeof(v));
#pragma unroll
    for (int i = 0; i < vector_elements<T>; ++i) {
        x[i] = x[i] * scale;
    }
    memcpy(&v, x, sizeof(v));
}

template <class Half>
__device__ __forceinline__ float upper_of_pair(unsigned pair) {
    const uint4 both{pair, 0, 0, 0};
    return larger_with_nan(element_of(both, 0, Half()), element_of(both, 1, Half()));
}
template <class T>
__device__ __forceinline__ auto largest_of_vector(const uint4 &v) {
    if constexpr (sizeof(T) == 2) {
        return upper_of_pair<T>(larger_pair(larger_pair(v.x, v.y, T()), larger_pair(v.z, v.w, T()), T()));
    } else {
        T largest = larger_with_nan(element_of(v, 0, T()), element_of(v, 1, T()));
#pragma unroll
        for (int i = 2; i < vector_elements<T>; ++i) {
            largest = larger_with_nan(largest, element_of(v, i, T()));
        }
        return largest;
    }
}
// Whether all magnitudes are below the bound.
template <class T, int Vectors>
__device__ __forceinline__ bool vectors_within(const uint4 (&vectors)[Vectors], float bound) {
    if constexpr (sizeof(T) == 2) {
        const auto of_vector = [](const uint4 &v) {
            return larger_magnitudes(larger_magnitudes(v.x, v.y, T()), larger_magnitudes(v.z, v.w, T()), T());
        };
        unsigned largest = of_vector(vectors[0]);
#pragma unroll
        for (int v = 1; v < Vectors; ++v) {
            largest = larger_magnitudes(largest, of_vector(vectors[v]), T());
        }
        return magnitude_of_pair<T>(largest) < bound;
    } else {
        float largest = 0;
#pragma unroll
        for (const uint4 &v : vectors) {
#pragma unroll
            for (int i = 0; i < vector_elements<T>; ++i) {
                largest = larger_with_nan(largest, fabsf(element_of(v, i, T())));
            }
        }
        return largest < bound;
    }
}

// The same of logits that are to be scaled: wide ones are already.
template <class T, class Float>
__device__ __forceinline__ Float largest_of_scaled_vector(const uint4 &v, Float scale, bool scaled) {
    if constexpr (sizeof(T) == 2) {
        if (scaled) {
            Float largest = element_of(v, 0, T()) * scale;
#pragma unroll
            for (int i = 1; i < vector_elements<T>; ++i) {
                largest = larger_with_nan(largest, element_of(v, i, T()) * scale);
            }
            return largest;
        }
    }
    return largest_of_vector<T>(v);
}

// Whether the magnitudes of a warp's logits are so small that the frame of all their exponentials may be N = 0.
template <class T, int Vectors>
__device__ __forceinline__ bool is_at_zero_exponent(const SoftmaxArguments &a, const uint4 (&vectors)[Vectors]) {
    if constexpr (sizeof(T) == sizeof(double)) {
        return false;
    } else {
        return __all_sync(whole_warp,
                          !(sizeof(T) == 2 && a.scaled) && vectors_within<T>(vectors, zero_exponent_range<T>)) != 0;
    }
}

// Whether a row's maximum is wanted where its exponentials have frame N = 0 without it.
template <bool Log>
__device__ __forceinline__ bool knows_maximum(const SoftmaxArguments &a) {
    return Log || wants_row_values(a);
}

// What such a row comes to, in its own frame where its maximum is known.
template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> total_at_zero_exponent(bool knows_maximum, Float maximum, Sum sum) {
    return {maximum, knows_maximum ? scale_by_power(sum, -nearest_exponent(maximum)) : sum};
}

// How far a row's exponentials are from its logits: what its lanes need of the row's maximum, an ordinary one.
template <class Float>
struct RowFrame {
    Float magic_less_n, bound;

    __device__ __forceinline__ explicit RowFrame(Float maximum)
        : magic_less_n(ExponentialConstants<Float>::magic - static_cast<Float>(nearest_exponent(maximum))),
          bound(maximum - ExponentialConstants<Float>::reach) {}
};

// A vector's exponentials: of logits to be scaled, tested against the bound, or neither.
template <class T, bool Scaled, bool Tested, class Float>
__device__ __forceinline__ void exponentials_of_vector(const uint4 &v, Float scale, Float magic_less_n, Float bound,
                                                       Float *e) {
#pragma unroll
    for (int i = 0; i < vector_elements<T>; ++i) {
        const Float x = Scaled ? element_of(v, i, T()) * scale : element_of(v, i, T());
        const Float result = scaled_exponential(x, magic_less_n);
        e[i] = !Tested || x > bound ? result : Float(0);
    }
}

// A row's one factor.
__device__ __forceinline__ BlockFactor<float> factor_of_sum(float sum, float) { return {reciprocal_of_sum(sum), 0.0f}; }
__device__ __forceinline__ BlockFactor<float> factor_of_sum(double sum, float) {
    const double factor = reciprocal_of_sum(sum);
    const float high = static_cast<float>(factor);
    return {high, static_cast<float>(factor - static_cast<double>(high))};
}
__device__ __forceinline__ BlockFactor<double> factor_of_sum(double sum, double) {
    return factor_in_pieces(1.0, sum, double());
}

// The outputs of a row of NaN, +infinity or nothing but -infinity, where softmax_row_alone puts its.
template <class T, bool Converted, class Float>
__device__ __forceinline__ void fill_row(const SoftmaxArguments &a, T *output, std::uint64_t row, RowKind kind) {
    const Float special = special_output<Float>(kind, a.log, a.empty_row_zero);
    if constexpr (Converted) {
        fill_any_outputs(a.output_type, a.output, row * a.axis, a.axis, special);
    } else {
        T one;
        store_any(special, a.output_type, &one, 0);
        for (int place = lane_index(); place < static_cast<int>(a.axis); place += warp_lanes) {
            output[place] = one;
        }
    }
}

// A row of up to a tile and of this maximum, from and to memory of any kind. Converted: its outputs are of
// another type and lie where the call's are, instead of at `output`.
template <class T, bool Log, bool Converted, class Float>
__device__ __forceinline__ void softmax_row_alone(const SoftmaxArguments &a, const T *data, T *output,
                                                  std::uint64_t row, Float maximum) {
    using Load = StridedLoad<T>;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    const int count = static_cast<int>(a.axis);
    const Logits<T, Load> x(a, data, count);
    const Frame<Float> frame = frame_of(maximum);
    Float y[lane_elements];
    const Sum sum = settle_block_sum(
        maximum, sum_of_exponentials<Load, Sum>(x, y, [&](int i) { return exponential_in(frame, x[i]); }));
    const RowState<Float, Sum> total{maximum, sum};
    const LogRow<Float> log = Log ? log_row(total) : LogRow<Float>{};
    const BlockFactor<Float> factor = block_factor(maximum, maximum, sum);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) {
        const int place = i * warp_lanes + lane_index();
        if (place < count && a.output != nullptr) {
            if constexpr (Converted) {
                const bool two_pieces = takes_two_pieces(a.output_type);
                const Float value = Log          ? log_softmax_output(x[i], log.splits)
                                    : two_pieces ? softmax_output(y[i], factor)
                                                 : softmax_narrow_output(y[i], factor);
                store_any(value, a.output_type, a.output, row * a.axis + static_cast<unsigned>(place));
            } else if (Log) {
                output[place] = narrow_one(log_softmax_output(x[i], log.splits), T());
            } else {
                output[place] = narrow_one(sizeof(T) >= sizeof(float) ? softmax_output(y[i], factor)
                                                                      : softmax_narrow_output(y[i], factor),
                                           T());
            }
        }
    }
    if (a.logsumexp != nullptr && lane_index() == 0) {
        store_row_logsumexp(total, a, row);
    }
    __syncwarp();
}

// Of a warp's rows those that are not ordinary, one after the other: where a lane says that it is rare, its `row` and
// that one's maximum. Their logsumexp is there already but where they are large.
template <class T, bool Log, bool Converted = false, class Float>
__device__ __noinline__ void softmax_rows_alone(const SoftmaxArguments &a, const T *data, T *output,
                                                std::uint64_t first_row, bool rare, int row, Float maximum) {
    __syncwarp(); // what other lanes have stored for these rows is stored again
#pragma unroll 1
    for (unsigned left = __ballot_sync(whole_warp, rare); left != 0; left &= left - 1) {
        const int lane = __ffs(static_cast<int>(left)) - 1;
        const int of_lane = __shfl_sync(whole_warp, row, lane);
        const Float its_maximum = __shfl_sync(whole_warp, maximum, lane);
        const RowKind kind = row_kind(its_maximum);
        const auto place = static_cast<std::ptrdiff_t>(of_lane) * static_cast<int>(a.axis);
        const std::uint64_t index = first_row + static_cast<unsigned>(of_lane);
        if (kind == RowKind::ordinary) {
            softmax_row_alone<T, Log, Converted>(a, data + place, output + place, index, its_maximum);
        } else if (a.output != nullptr) {
            fill_row<T, Converted, Float>(a, output + place, index, kind);
        }
    }
}

// The same of rows that lie in a warp's stage as they lay in memory, and whose outputs do, too: up to `most` of a warp.
template <class T, bool Log, class Float>
__device__ __noinline__ void staged_rows_alone(const SoftmaxArguments &a, int most, uint4 *stage, bool rare, int row,
                                               Float maximum) {
    const WarpRows rows(a, most);
    T *const first = reinterpret_cast<T *>(stage) + elements_before(rows.input<T>(a));
    softmax_rows_alone<T, Log>(a, first, first, rows.first, rare, row, maximum);
}

// Vectors of neighbouring columns as words: of one column each, or of two 16-bit ones.

// A vector holds four words: of one column each, or of two 16-bit ones.
inline constexpr int vector_words = 4;

template <class T>
__device__ __forceinline__ unsigned larger_word(unsigned a, unsigned b) {
    if constexpr (sizeof(T) == 2) {
        return larger_pair(a, b, T());
    } else {
        return __float_as_uint(larger_with_nan(__uint_as_float(a), __uint_as_float(b)));
    }
}
template <class T>
__device__ __forceinline__ unsigned smaller_word(unsigned a, unsigned b) {
    if constexpr (sizeof(T) == 2) {
        return smaller_pair(a, b, T());
    } else {
        return __float_as_uint(fminf(__uint_as_float(a), __uint_as_float(b)));
    }
}

// One of a word's columns.
template <class T>
__device__ __forceinline__ float column_of_word(unsigned word, int column) {
    return element_of(uint4{word, 0, 0, 0}, column, T());
}

} // namespace wr::cuda
