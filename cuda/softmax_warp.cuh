// A base block of 1024 elements in a warp's registers: 32 elements a lane.
#pragma once

#include "cuda/softmax_arguments.h"
#include "cuda/tile_load.cuh"
#include "numerics/operators.h"
#include "numerics/softmax.h"
#include "numerics/tree.h"

namespace wr::cuda {

inline constexpr int lane_elements = static_cast<int>(softmax_block) / warp_lanes;

// Where a lane's elements stand in the block. Vectors: 16 bytes at a time, for rows that start and end on 16-byte
// boundaries. Singles: one at a time, for all others.
template <class T>
struct VectorPlaces {
    static constexpr bool vectors = true;
    static constexpr int run = vector_elements<T>; // neighbours that a lane holds
};
template <class T>
struct SinglePlaces {
    static constexpr bool vectors = false;
    static constexpr int run = 1;
};

// Of a lane's place in a block: its first element, and how far each further run of it lies behind the one before.
template <class Places>
__device__ __forceinline__ int first_place() {
    return lane_index() * Places::run;
}
template <class Places>
inline constexpr int run_distance = warp_lanes * Places::run;

__device__ __forceinline__ float larger_with_nan(float a, float b) {
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
}
__device__ __forceinline__ double larger_with_nan(double a, double b) { return larger_or_nan(a, b); }

template <class Float>
__device__ __forceinline__ Float warp_maximum(Float value) {
#pragma unroll
    for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
        value = larger_with_nan(value, from_lane_xor(value, distance));
    }
    return value;
}

// What stands behind the end of a row: -infinity, once it is scaled.
template <class T>
__device__ __forceinline__ T filler(bool negative_scale);
template <>
__device__ __forceinline__ float filler<float>(bool negative_scale) {
    return negative_scale ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
}
template <>
__device__ __forceinline__ double filler<double>(bool negative_scale) {
    return negative_scale ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}
template <>
__device__ __forceinline__ F16 filler<F16>(bool negative_scale) {
    return {static_cast<std::uint16_t>(negative_scale ? 0x7C00u : 0xFC00u)};
}
template <>
__device__ __forceinline__ BF16 filler<BF16>(bool negative_scale) {
    return {static_cast<std::uint16_t>(negative_scale ? 0x7F80u : 0xFF80u)};
}

// A lane's elements of the block at `data`, of which the first `count` exist.
template <class T, class Places>
__device__ __forceinline__ void load_elements(const T *data, std::ptrdiff_t stride, int count, bool negative_scale,
                                              T (&x)[lane_elements]) {
    const T behind = filler<T>(negative_scale);
    const int left = count - first_place<Places>();
    if constexpr (Places::vectors) {
        const T *mine = data + first_place<Places>();
#pragma unroll
        for (int v = 0; v < lane_elements / Places::run; ++v) {
            if (v * run_distance<Places> < left) {
                const uint4 vector = __ldg(reinterpret_cast<const uint4 *>(mine + v * run_distance<Places>));
                memcpy(x + v * Places::run, &vector, sizeof(vector));
            } else {
#pragma unroll
                for (int j = 0; j < Places::run; ++j) {
                    x[v * Places::run + j] = behind;
                }
            }
        }
    } else {
        const T *mine = data + first_place<Places>() * stride;
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            x[i] = i * run_distance<Places> < left ? mine[i * run_distance<Places> * stride] : behind;
        }
    }
}

// A lane's logits. Wide elements are scaled in place.
template <class T, class Places>
struct Logits {
    using Float = typename SoftmaxArithmetic<T>::Float;
    static constexpr bool has_plain_form = false;
    Float x[lane_elements];

    __device__ __forceinline__ Logits(const SoftmaxArguments &a, const T *data, int count) {
        T raw[lane_elements];
        load_elements<T, Places>(data, a.axis_stride, count, a.scale < 0, raw);
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

    __device__ __forceinline__ Float maximum() const {
        Float largest = x[0];
#pragma unroll
        for (int i = 1; i < lane_elements; ++i) {
            largest = larger_with_nan(largest, x[i]);
        }
        return largest;
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

// 16-bit elements stay packed in pairs until their exponentials are formed: half the registers, and half the work for
// the extremes.
template <class Half>
struct PackedLogits {
    using Float = float;
    static constexpr bool has_plain_form = true;
    static constexpr int words = lane_elements / 2;
    unsigned pairs[words];
    float scale;
    bool scaled;

    __device__ __forceinline__ PackedLogits(const SoftmaxArguments &a, const Half *data, int count)
        : scale(static_cast<float>(a.scale)), scaled(a.scaled) {
        using Places = VectorPlaces<Half>;
        const unsigned behind = filler<Half>(a.scale < 0).bits * 0x10001u;
        const int left = count - first_place<Places>();
        const Half *mine = data + first_place<Places>();
#pragma unroll
        for (int v = 0; v < words / 4; ++v) {
            uint4 vector{behind, behind, behind, behind};
            if (v * run_distance<Places> < left) {
                vector = __ldg(reinterpret_cast<const uint4 *>(mine + v * run_distance<Places>));
            }
            pairs[4 * v] = vector.x;
            pairs[4 * v + 1] = vector.y;
            pairs[4 * v + 2] = vector.z;
            pairs[4 * v + 3] = vector.w;
        }
    }

    __device__ __forceinline__ static float half_of(unsigned pair, int i) {
        return widen(Half{static_cast<std::uint16_t>(i % 2 == 0 ? pair & 0xFFFFu : pair >> 16)});
    }
    __device__ __forceinline__ float operator[](int i) const { return half_of(pairs[i / 2], i) * scale; }
    __device__ __forceinline__ float plain_value(int i) const { return half_of(pairs[i / 2], i); } // where not scaled

    __device__ __forceinline__ float maximum() const {
        const unsigned pair = scaled && scale < 0 ? least_pair_with_nan() : largest_pair();
        return larger_with_nan(half_of(pair, 0) * scale, half_of(pair, 1) * scale);
    }
    __device__ __forceinline__ float minimum() const {
        unsigned least = pairs[0];
#pragma unroll
        for (int i = 1; i < words; ++i) {
            least = smaller_pair(least, pairs[i], Half());
        }
        const float low = half_of(least, 0), high = half_of(least, 1);
        return low < high ? low : high;
    }

  private:
    __device__ __forceinline__ unsigned largest_pair() const {
        unsigned largest = pairs[0];
#pragma unroll
        for (int i = 1; i < words; ++i) {
            largest = larger_pair(largest, pairs[i], Half());
        }
        return largest;
    }
    // The least elements, as the largest of the negated.
    __device__ __forceinline__ unsigned least_pair_with_nan() const {
        constexpr unsigned signs = 0x80008000u;
        unsigned largest = pairs[0] ^ signs;
#pragma unroll
        for (int i = 1; i < words; ++i) {
            largest = larger_pair(largest, pairs[i] ^ signs, Half());
        }
        return largest ^ signs;
    }
};
template <>
struct Logits<F16, VectorPlaces<F16>> : PackedLogits<F16> {
    using PackedLogits<F16>::PackedLogits;
};
template <>
struct Logits<BF16, VectorPlaces<BF16>> : PackedLogits<BF16> {
    using PackedLogits<BF16>::PackedLogits;
};

// The natural tree over the exponentials of one lane's neighbours.
template <int Run, class Sum, class Float>
__device__ __forceinline__ Sum run_sum(const Float *e) {
    Sum part[Run];
#pragma unroll
    for (int j = 0; j < Run; ++j) {
        part[j] = static_cast<Sum>(e[j]);
    }
#pragma unroll
    for (int width = 1; width < Run; width *= 2) {
#pragma unroll
        for (int j = 0; j < Run; j += 2 * width) {
            part[j] = part[j] + part[j + width];
        }
    }
    return part[0];
}

// The exponentials of one lane's run of neighbours, and their tree.
template <class Places, class Sum, class Float, class Exponential>
__device__ __forceinline__ Sum run_of_exponentials(int run, Float (&e)[lane_elements], Exponential exponential) {
#pragma unroll
    for (int i = run * Places::run; i < (run + 1) * Places::run; ++i) {
        e[i] = exponential(i);
    }
    return run_sum<Places::run, Sum>(e + run * Places::run);
}

// The block's exponentials and the natural tree over them. Runs are taken in the pairs that the first step of the
// exchange brings together, so that half as many sums wait in registers.
template <class Places, class Sum, class Float, class Exponential>
__device__ __forceinline__ Sum sum_of_exponentials(Float (&e)[lane_elements], Exponential exponential) {
    constexpr int half = lane_elements / Places::run / 2;
    Sum sums[half];
#pragma unroll
    for (int run = 0; run < half; ++run) {
        const Sum low = run_of_exponentials<Places, Sum>(run, e, exponential);
        const Sum high = run_of_exponentials<Places, Sum>(run + half, e, exponential);
        sums[run] = exchange_pair<FloatSum<Sum>, 0>(low, high);
    }
    return warp_tree<FloatSum<Sum>, 1>(sums);
}

// The block's exponentials and its state, in every lane.
template <class Places, class Sum, class BlockLogits, class Float>
__device__ __forceinline__ RowState<Float, Sum> block_state(const BlockLogits &x, Float (&e)[lane_elements]) {
    const Float maximum = warp_maximum(x.maximum());
    const Frame<Float> frame = frame_of(maximum);
    if constexpr (BlockLogits::has_plain_form) {
        // Instructions are what 16-bit rows are short of: in nearly every block all elements lie where the exponential
        // needs neither a shift nor a test.
        const bool ordinary = is_ordinary(maximum) && !x.scaled;
        if (ordinary && __all_sync(whole_warp, x.minimum() > frame.lowest) != 0) {
            const Sum sum = sum_of_exponentials<Places, Sum>(
                e, [&](int i) { return scaled_exponential(x.plain_value(i), frame.magic_less_n); });
            return {maximum, sum};
        }
    }
    const Sum sum = sum_of_exponentials<Places, Sum>(e, [&](int i) { return exponential_in(frame, x[i]); });
    return {maximum, settle_block_sum(maximum, sum)};
}

// A row as one of its blocks sees it. `plain`: all maxima are ordinary; then `gap` is the block's frame less the row's,
// and nothing else of the maxima needs to be looked at again.
template <class Float, class Sum>
struct RowView {
    RowState<Float, Sum> total;
    std::int32_t gap;
    bool plain;
};

// The total of up to 32 states, lane l's being number l (-infinity and 0 behind the last), in every lane.
template <class Float, class Sum>
__device__ __noinline__ RowState<Float, Sum> merge_any_lanes(RowState<Float, Sum> mine) {
    const Float maximum = warp_maximum(mine.maximum);
    const Sum scaled = scale_by_power(mine.sum, frame_gap(mine.maximum, maximum));
    return {maximum, tree_over_lanes<FloatSum<Sum>>(scaled, warp_lanes)};
}

// Likewise for `span` (a power of two) states, which repeat over the lanes, as the block with maximum `own` sees the
// row. In a plain row, its maximum is formed only where it is wanted: outputs of softmax do not depend on it.
template <class Float, class Sum>
__device__ __forceinline__ RowView<Float, Sum> merge_lanes(RowState<Float, Sum> mine, int span, Float own,
                                                           bool wants_maximum) {
    const bool absent = mine.maximum == -std::numeric_limits<Float>::infinity() && lane_index() != 0;
    if (__all_sync(whole_warp, absent || is_ordinary(mine.maximum)) == 0) {
        mine = lane_index() < span ? mine : StateMerge<Float, Sum>::identity();
        return {merge_any_lanes(mine), 0, false};
    }
    const std::int32_t n = absent ? std::numeric_limits<std::int32_t>::min() / 2 : nearest_exponent(mine.maximum);
    const std::int32_t row_n = __reduce_max_sync(whole_warp, n);
    Sum sum = scale_by_power(mine.sum, n - row_n);
    for (int distance = 1; distance < span; distance *= 2) {
        sum = sum + from_lane_xor(sum, distance);
    }
    const Float maximum = wants_maximum ? warp_maximum(mine.maximum) : Float(0);
    // A block of -infinity alone, in a row that is plain but for it, has zeros for exponentials: any factor will do.
    return {{maximum, sum}, is_ordinary(own) ? nearest_exponent(own) - row_n : 0, true};
}

__device__ __forceinline__ unsigned narrow_pair(float low, float high, F16) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}
__device__ __forceinline__ unsigned narrow_pair(float low, float high, BF16) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

// Some neighbouring values as elements of T, packed into a vector. None of them is NaN.
__device__ __forceinline__ uint4 pack(const float *y, float) {
    return {__float_as_uint(y[0]), __float_as_uint(y[1]), __float_as_uint(y[2]), __float_as_uint(y[3])};
}
__device__ __forceinline__ uint4 pack(const double *y, double) {
    uint4 vector;
    memcpy(&vector, y, sizeof(vector));
    return vector;
}
template <class Half>
__device__ __forceinline__ uint4 pack(const float *y, Half h) {
    return {narrow_pair(y[0], y[1], h), narrow_pair(y[2], y[3], h), narrow_pair(y[4], y[5], h),
            narrow_pair(y[6], y[7], h)};
}

__device__ __forceinline__ float narrow_one(float y, float) { return y; }
__device__ __forceinline__ double narrow_one(double y, double) { return y; }
template <class Half>
__device__ __forceinline__ Half narrow_one(float y, Half h) {
    return Half{static_cast<std::uint16_t>(narrow_pair(y, y, h))};
}

// One 16-byte store, which the compiler would otherwise take apart again.
__device__ __forceinline__ void store_vector(void *at, uint4 v) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

template <class Float>
__device__ __noinline__ void store_any(Float value, ElementType type, void *output, std::size_t index) {
    store_float(value, type, output, index);
}

template <class T>
struct ElementTypeOf;
template <>
struct ElementTypeOf<float> {
    static constexpr ElementType type = ElementType::f32;
};
template <>
struct ElementTypeOf<double> {
    static constexpr ElementType type = ElementType::f64;
};
template <>
struct ElementTypeOf<F16> {
    static constexpr ElementType type = ElementType::f16;
};
template <>
struct ElementTypeOf<BF16> {
    static constexpr ElementType type = ElementType::bf16;
};

// Writes the block to elements first to first + count of the output. Vectors write elements of the input's type only.
template <class T, class Places, class Float>
__device__ __forceinline__ void store_block(const SoftmaxArguments &a, std::size_t first, int count,
                                            const Float (&y)[lane_elements]) {
    const std::size_t place = first + static_cast<std::size_t>(first_place<Places>());
    const int left = count - first_place<Places>();
    T *own = static_cast<T *>(a.output) + place;
    if constexpr (Places::vectors) {
#pragma unroll
        for (int v = 0; v < lane_elements / Places::run; ++v) {
            if (v * run_distance<Places> < left) {
                store_vector(own + v * run_distance<Places>, pack(y + v * Places::run, T()));
            }
        }
    } else if (a.output_type == ElementTypeOf<T>::type) {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            if (i * run_distance<Places> < left) {
                own[i * run_distance<Places>] = narrow_one(y[i], T());
            }
        }
    } else {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            if (i * run_distance<Places> < left) {
                store_any(y[i], a.output_type, a.output, place + static_cast<std::size_t>(i * run_distance<Places>));
            }
        }
    }
}

// Writes one value to all of the block's elements: a row that is not ordinary.
template <class Float>
__device__ __forceinline__ void store_special(const SoftmaxArguments &a, std::size_t first, int count, RowKind kind) {
    const Float value = special_output<Float>(kind, a.log, a.empty_row_zero);
    for (int place = lane_index(); place < count; place += warp_lanes) {
        store_any(value, a.output_type, a.output, first + static_cast<std::size_t>(place));
    }
}

// Whether outputs of this type take both pieces of a block's factor.
__device__ __forceinline__ bool takes_two_pieces(ElementType output_type) {
    return output_type == ElementType::f32 || output_type == ElementType::f64;
}

// The factor of a block in a plain row. Where one piece of it will do and sums are f32, dividing in f32 has the bits of
// dividing in f64 and rounding (f64 has more than twice f32's bits and two to spare), and a power of two within the
// normal range commutes with both.
template <class Float, class Sum>
__device__ __forceinline__ BlockFactor<Float> plain_factor(const RowView<Float, Sum> &row, bool two_pieces) {
    if constexpr (sizeof(Sum) == sizeof(float)) {
        constexpr std::int32_t safe_gap = -64; // a sum of 32 blocks is below 2^16
        if (!two_pieces && row.gap >= safe_gap) {
            return {__fdiv_rn(1.0f, row.total.sum) * power_of_two_f32(row.gap), 0.0f};
        }
    }
    return factor_in_pieces(power_of_two_f64(row.gap), row.total.sum, Float());
}

template <class Float, class Sum>
__device__ __noinline__ BlockFactor<Float> any_factor(Float maximum, RowState<Float, Sum> row) {
    return block_factor(maximum, row.maximum, row.sum);
}

template <class Float, class Sum>
__device__ __noinline__ LogSumExp any_logsumexp(RowState<Float, Sum> row) {
    return row_logsumexp(row.maximum, row.sum);
}

template <class Float, class Sum>
__device__ __noinline__ void store_row_logsumexp(RowState<Float, Sum> row, void *output, std::size_t index) {
    store_logsumexp(row.maximum, row.sum, output, index);
}

// From a block and its row to its outputs. `e` holds the exponentials, which log-softmax does not need.
template <class T, class Places, bool Log, class BlockLogits, class Float, class Sum>
__device__ __forceinline__ void finish_block(const SoftmaxArguments &a, Float maximum, const RowView<Float, Sum> &row,
                                             std::size_t first, int count, const BlockLogits &x,
                                             Float (&e)[lane_elements]) {
    if (!row.plain) {
        const RowKind kind = row_kind(row.total.maximum);
        if (kind != RowKind::ordinary) {
            store_special<Float>(a, first, count, kind);
            return;
        }
    }
    if constexpr (Log) {
        const LogPieces<Float> lse = log_pieces<Float>(any_logsumexp(row.total));
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            e[i] = log_softmax_output(x[i], lse);
        }
    } else {
        const bool two_pieces = takes_two_pieces(a.output_type);
        const BlockFactor<Float> factor = row.plain ? plain_factor(row, two_pieces) : any_factor(maximum, row.total);
        if (two_pieces) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                e[i] = softmax_output(e[i], factor);
            }
        } else {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                e[i] = softmax_narrow_output(e[i], factor);
            }
        }
    }
    store_block<T, Places>(a, first, count, e);
}

} // namespace wr::cuda
