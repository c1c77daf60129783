// A base block of 1024 elements in a warp's registers: its exponentials, its state, its outputs.
#pragma once

#include "cuda/softmax_access.cuh"
#include "numerics/operators.h"
#include "numerics/tree.h"

namespace wr::cuda {

__device__ __forceinline__ float larger_with_nan(float a, float b) {
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
}
__device__ __forceinline__ double larger_with_nan(double a, double b) { return larger_or_nan(a, b); }

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
template <class T, class Places>
struct Logits {
    using Float = typename SoftmaxArithmetic<T>::Float;
    Float x[lane_elements];

    __device__ __forceinline__ Logits(const SoftmaxArguments &a, const T *data, int count) {
        T raw[lane_elements];
        if constexpr (Places::vectors) {
            uint4 vectors[lane_vectors<T>];
            load_block_vectors<T, Places>(a, data, count, vectors);
#pragma unroll
            for (int v = 0; v < lane_vectors<T>; ++v) {
                memcpy(raw + v * Places::run, vectors + v, sizeof(uint4));
            }
        } else {
            load_singles(data, a.axis_stride, count, a.scale < 0, raw);
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

    // The lower one says nothing about NaN.
    __device__ __forceinline__ void extremes(bool, Float &lowest, Float &highest) const {
        highest = maximum();
        lowest = x[0];
#pragma unroll
        for (int i = 1; i < lane_elements; ++i) {
            lowest = fmin(lowest, x[i]);
        }
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
template <class Half, class Places>
struct PackedLogits {
    using Float = float;
    static constexpr int words = lane_elements / 2;
    unsigned pairs[words];
    float scale; // 1 where not scaled

    __device__ __forceinline__ PackedLogits(const SoftmaxArguments &a, const Half *data, int count)
        : scale(a.narrow_scale) {
        uint4 vectors[lane_vectors<Half>];
        load_block_vectors<Half, Places>(a, data, count, vectors);
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
        float lowest, highest;
        extremes(false, lowest, highest);
        return highest < bound && lowest > -bound;
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

template <class T, class Places>
inline constexpr bool is_packed = sizeof(T) == 2 && Places::vectors;

// Where a form of the exponential is worth its code that serves blocks in which no element is too small to count.
template <class T, class Places>
inline constexpr bool has_plain_blocks =
    is_packed<T, Places> || (sizeof(T) == 4 && Places::vectors && !Places::shifted);

template <class T, class Places>
struct LogitsFor {
    using Type = Logits<T, Places>;
};
template <class Half, class Places>
    requires is_packed<Half, Places>
struct LogitsFor<Half, Places> {
    using Type = PackedLogits<Half, Places>;
};
template <class T, class Places>
using BlockLogits = typename LogitsFor<T, Places>::Type;

// An exponential as a term of a sum. Normal: it is known to be a positive normal number, which is widened by integer
// instructions; the conversion's unit takes eight cycles for a warp.
template <class Sum, bool Normal, class Float>
__device__ __forceinline__ Sum term(Float e) {
    if constexpr (Normal && sizeof(Float) == 4 && sizeof(Sum) == 8) {
        constexpr unsigned more_mantissa = 1u << (52 - 23);
        constexpr long long bias_difference = (1023LL - 127) << 52;
        long long bits;
        asm("mad.wide.u32 %0, %1, %2, %3;"
            : "=l"(bits)
            : "r"(__float_as_uint(e)), "n"(more_mantissa), "n"(bias_difference));
        return __longlong_as_double(bits);
    } else {
        return static_cast<Sum>(e);
    }
}

// The natural tree over the exponentials of one lane's neighbours.
template <int Run, class Sum, bool Normal = false, class Float>
__device__ __forceinline__ Sum run_sum(const Float *e) {
    Sum part[Run];
#pragma unroll
    for (int j = 0; j < Run; ++j) {
        part[j] = term<Sum, Normal>(e[j]);
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
template <class Places, class Sum, bool Normal, class Float, class Exponential>
__device__ __forceinline__ Sum run_of_exponentials(int run, Float (&e)[lane_elements], Exponential exponential) {
#pragma unroll
    for (int i = run * Places::run; i < (run + 1) * Places::run; ++i) {
        e[i] = exponential(i);
    }
    return run_sum<Places::run, Sum, Normal>(e + run * Places::run);
}

// The block's exponentials and the natural tree over them. Runs are taken in the pairs that the first step of the
// exchange brings together, so that half as many sums wait in registers.
template <class Places, class Sum, bool Normal = false, class Float, class Exponential>
__device__ __forceinline__ Sum sum_of_exponentials(Float (&e)[lane_elements], Exponential exponential) {
    constexpr int half = lane_elements / Places::run / 2;
    Sum sums[half];
#pragma unroll
    for (int run = 0; run < half; ++run) {
        const Sum low = run_of_exponentials<Places, Sum, Normal>(run, e, exponential);
        const Sum high = run_of_exponentials<Places, Sum, Normal>(run + half, e, exponential);
        sums[run] = exchange_pair<FloatSum<Sum>, 0>(low, high);
    }
    return warp_tree<FloatSum<Sum>, 1>(sums);
}

// The frame's exponent N of an ordinary block as states carry it, and what stands for it where a block has none.
inline constexpr std::int32_t absent_n = std::numeric_limits<std::int32_t>::min() / 2; // -infinity alone
inline constexpr std::int32_t unusual_n = std::numeric_limits<std::int32_t>::max();    // large logits, +infinity, NaN

template <class Float, class Sum>
struct alignas(16) BlockState {
    Float maximum;
    std::int32_t n;
    Sum sum;
};

template <class Float, class Sum>
__device__ __forceinline__ BlockState<Float, Sum> absent_state() {
    return {-std::numeric_limits<Float>::infinity(), absent_n, Sum(0)};
}

// Where state number i lies in shared memory: lanes that each take eight in a row meet different banks.
__host__ __device__ constexpr int state_place(int i) { return i + i / 8; }

template <class Float>
__device__ __forceinline__ std::int32_t state_n(Float maximum) {
    if (is_ordinary(maximum)) {
        return nearest_exponent(maximum);
    }
    return maximum == -std::numeric_limits<Float>::infinity() ? absent_n : unusual_n;
}

// A block whose logits all have magnitudes below this is formed in the frame N = 0 by those who have no use for its
// maximum, and its state says 0 in that place: powers of two are exact, so that a row has the bits it has in frames of
// its own. The bound keeps all that is rounded within the normal range in either frame: N of such a block is at most 38
// (f32) or 46 from 0, a row's sum below 2^19 in its own frame, and the lower piece of a factor of f32 outputs reaches
// 53 bits below it.
template <class T>
inline constexpr float unframed_reach = sizeof(T) == 2 ? 32.0f : 26.0f;

template <class T, class Places, bool Log>
inline constexpr bool may_be_unframed = !Log && Places::vectors && sizeof(T) < sizeof(double);

// Of a block that may be one of these, whether plain_factor serves it beneath a row of exponent row_n.
template <class T>
__device__ __forceinline__ bool reaches_row(std::int32_t n, std::int32_t row_n) {
    constexpr std::int32_t lowest = sizeof(T) == 2 ? -56 : -38;
    return n != 0 || n - row_n >= lowest;
}

// Such a block's maximum, which its state does not know.
template <class T, class Places, class Float>
__device__ __forceinline__ Float maximum_again(const SoftmaxArguments &a, const T *data, int count) {
    Float lowest, highest;
    BlockLogits<T, Places>(a, data, count).extremes(a.scaled, lowest, highest);
    return warp_maximum(highest);
}

// A block's logits read again, its exponentials whatever its maximum, and their sum. Blocks of large logits, +infinity
// or NaN are rare: what they need stays behind calls, so that the others keep their registers. The memory is still the
// input's, in place too: only this warp writes it.
template <class T, class Places>
struct BlockAgain {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    Float e[lane_elements];
    Sum sum;

    __device__ __forceinline__ BlockAgain(const SoftmaxArguments &a, const T *data, int count, Float maximum) {
        const BlockLogits<T, Places> x(a, data, count);
        const Frame<Float> frame = frame_of(maximum);
        sum = sum_of_exponentials<Places, Sum>(e, [&](int i) { return exponential_in(frame, x[i]); });
    }
};

template <class T, class Places, class Float, class Sum>
__device__ __noinline__ Sum unusual_block_sum(const SoftmaxArguments &a, const T *data, int count, Float maximum) {
    return settle_block_sum(maximum, BlockAgain<T, Places>(a, data, count, maximum).sum);
}

// Large logits, +infinity or NaN.
template <class Float>
__device__ __forceinline__ bool is_unusual(Float maximum) {
    return !is_ordinary(maximum) && maximum != -std::numeric_limits<Float>::infinity();
}

// The block's exponentials and their sum, in every lane, where its maximum is not unusual. note(maximum, n) is called
// before the exponentials are formed, so that a caller who writes these down needs no registers for them. TestedOnly:
// without a way of its own for blocks in which no exponential needs a test.
template <class T, class Places, class Float, class Sum, bool TestedOnly = false, class Note>
__device__ __forceinline__ Sum ordinary_block_sum(const SoftmaxArguments &a, const BlockLogits<T, Places> &x,
                                                  Float lowest, Float maximum, Float (&e)[lane_elements], Note note) {
    using C = ExponentialConstants<Float>;
    const bool absent = maximum == -std::numeric_limits<Float>::infinity();
    const Float bound = absent ? std::numeric_limits<Float>::infinity() : maximum - C::reach;
    const std::int32_t nearest = nearest_exponent(maximum);
    const Float magic_less_n = C::magic - static_cast<Float>(nearest);
    note(maximum, absent ? absent_n : nearest);
    if constexpr (has_plain_blocks<T, Places> && !TestedOnly) {
        // In nearly every block no exponential needs a test, or is 0.
        if (!(is_packed<T, Places> && a.scaled) && __all_sync(whole_warp, lowest > bound) != 0) {
            return sum_of_exponentials<Places, Sum, true>(
                e, [&](int i) { return scaled_exponential(x.plain_value(i), magic_less_n); });
        }
    }
    return sum_of_exponentials<Places, Sum>(e, [&](int i) {
        const Float value = x[i];
        const Float result = scaled_exponential(value, magic_less_n);
        return value > bound ? result : Float(0);
    });
}

// The same whatever the maximum is. Where n is unusual_n there are no exponentials. MayBeUnframed: the state is for
// plain softmax, which needs no maximum of an ordinary block, unless `log` says otherwise.
template <class T, class Places, class Float, class Sum, bool MayBeUnframed = false, class Note>
__device__ __forceinline__ Sum block_sum(const SoftmaxArguments &a, const T *data, int count,
                                         const BlockLogits<T, Places> &x, Float (&e)[lane_elements], Note note,
                                         bool log = false) {
    if constexpr (MayBeUnframed) {
        const bool plain = !log && a.logsumexp == nullptr && !(is_packed<T, Places> && a.scaled);
        if (__all_sync(whole_warp, plain && x.within(unframed_reach<T>)) != 0) {
            note(Float(0), 0);
            return sum_of_exponentials<Places, Sum, true>(
                e, [&](int i) { return scaled_exponential(x.plain_value(i), ExponentialConstants<Float>::magic); });
        }
    }
    Float lowest, maximum;
    x.extremes(a.scaled, lowest, maximum);
    maximum = warp_maximum(maximum);
    if (is_unusual(maximum)) {
        note(maximum, unusual_n);
        return unusual_block_sum<T, Places, Float, Sum>(a, data, count, maximum);
    }
    return ordinary_block_sum<T, Places, Float, Sum, MayBeUnframed>(a, x, lowest, maximum, e, note);
}

// The same, with the block's state left at `state`, in shared memory.
template <class T, class Places, class Float, class Sum, bool MayBeUnframed = false>
__device__ __forceinline__ Sum block_state(const SoftmaxArguments &a, const T *data, int count,
                                           const BlockLogits<T, Places> &x, Float (&e)[lane_elements],
                                           BlockState<Float, Sum> *state, bool log = false) {
    const auto note = [&](Float maximum, std::int32_t n) {
        if (lane_index() == 0) {
            state->maximum = maximum;
            state->n = n;
        }
    };
    const Sum sum = block_sum<T, Places, Float, Sum, MayBeUnframed>(a, data, count, x, e, note, log);
    if (lane_index() == 0) {
        state->sum = sum;
    }
    return sum;
}

// The total of up to 32 states, lane l's being number l (-infinity and 0 behind the last), in every lane.
template <class Float, class Sum>
__device__ __noinline__ RowState<Float, Sum> merge_any_lanes(RowState<Float, Sum> mine) {
    const Float maximum = warp_maximum(larger_with_nan(mine.maximum, mine.maximum));
    const Sum scaled = scale_by_power(mine.sum, frame_gap(mine.maximum, maximum));
    return {maximum, tree_over_lanes<FloatSum<Sum>>(scaled, warp_lanes)};
}

// The total of `count` states in shared memory, whatever they are, in every lane.
template <class Float, class Sum>
__device__ __noinline__ RowState<Float, Sum> merge_any_states(const BlockState<Float, Sum> *states, int count) {
    Float maximum = -std::numeric_limits<Float>::infinity();
#pragma unroll 1
    for (int at = lane_index(); at < count; at += warp_lanes) {
        maximum = larger_with_nan(maximum, states[state_place(at)].maximum);
    }
    maximum = warp_maximum(maximum);
    TreeCounter<FloatSum<Sum>, 6> runs; // of 32 states
#pragma unroll 1
    for (int first = 0; first < count; first += warp_lanes) {
        const int at = first + lane_index();
        const Sum scaled = at < count ? scale_by_power(states[state_place(at)].sum,
                                                       frame_gap(states[state_place(at)].maximum, maximum))
                                      : Sum(0);
        runs.push(tree_over_lanes<FloatSum<Sum>>(scaled, warp_lanes));
    }
    return {maximum, runs.result()};
}

// The total of a row as its blocks see it where it is plain: its largest block is ordinary. Elsewhere `n` is absent_n
// or unusual_n.
template <class Sum>
struct RowView {
    Sum sum;
    std::int32_t n;

    __device__ __forceinline__ bool plain() const { return n != absent_n && n != unusual_n; }
};

// The row of `count` blocks whose states lie in shared memory, PerLane of them for each of Span lanes, which all groups
// of lanes repeat. Both are powers of two whose product is not below `count`.
template <int PerLane, int Span, class Float, class Sum>
__device__ __forceinline__ RowView<Sum> merge_states(const BlockState<Float, Sum> *states, int count) {
    std::int32_t n[PerLane];
    Sum sums[PerLane];
    std::int32_t largest = absent_n;
    const int first = (lane_index() & (Span - 1)) * PerLane;
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
        n[i] = absent_n;
        sums[i] = Sum(0);
        if (first + i < count) {
            n[i] = states[state_place(first + i)].n;
            sums[i] = states[state_place(first + i)].sum;
        }
        largest = larger(largest, n[i]);
    }
    const std::int32_t row_n = __reduce_max_sync(whole_warp, largest);
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
        sums[i] = scale_by_power(sums[i], n[i] - row_n);
    }
    Sum sum = run_sum<PerLane, Sum>(sums);
#pragma unroll
    for (int distance = 1; distance < Span; distance *= 2) {
        sum = sum + from_lane_xor(sum, distance);
    }
    return {sum, row_n};
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

// Writes the block's outputs, the first `count` of them from element `first` of the output on. Vectors write elements
// of the input's type only.
template <class T, class Places, class Float>
__device__ __forceinline__ void store_block(const SoftmaxArguments &a, std::size_t first, int count,
                                            const Float (&y)[lane_elements]) {
    if constexpr (Places::vectors) {
        uint4 vectors[lane_vectors<T>];
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = pack(y + v * Places::run, T());
        }
        if constexpr (Places::shifted) {
            store_shifted_block(static_cast<T *>(a.output) + first, count, vectors);
        } else {
            store_aligned_block(static_cast<T *>(a.output) + first, count, vectors);
        }
    } else {
        const std::size_t place = first + static_cast<std::size_t>(lane_index());
        const int left = count - lane_index();
        T *own = static_cast<T *>(a.output) + place;
        if (a.output_type == ElementTypeOf<T>::type) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                if (i * warp_lanes < left) {
                    own[i * warp_lanes] = narrow_one(y[i], T());
                }
            }
        } else {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                if (i * warp_lanes < left) {
                    store_any(y[i], a.output_type, a.output, place + static_cast<std::size_t>(i * warp_lanes));
                }
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

// Whether this block writes outputs of two pieces: where elements go out as vectors, their type decides.
template <class T, class Places>
__device__ __forceinline__ bool block_takes_two_pieces(const SoftmaxArguments &a) {
    return Places::vectors ? sizeof(T) >= sizeof(float) : takes_two_pieces(a.output_type);
}

// Whether plain_factor serves a block whose frame is `gap` above the row's.
template <class T, class Places>
__device__ __forceinline__ bool has_plain_factor(const SoftmaxArguments &a, std::int32_t gap) {
    constexpr std::int32_t safe_gap = -64; // over any sum below 2^61, the factor is normal
    return sizeof(T) >= sizeof(float) || (gap >= safe_gap && !block_takes_two_pieces<T, Places>(a));
}

// 1 / x, rounded to nearest, for x as sums of ordinary rows are, well within the normal range: Newton's steps without
// the compiler's call for what lies outside, around which a lane's exponentials would have to find room.
__device__ __forceinline__ float reciprocal_of_sum(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return fused(y, -fused(y, x, -1.0f), y);
}
__device__ __forceinline__ double reciprocal_of_sum(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    double rest = fused(-x, y, 1.0);
    rest = fused(rest, rest, rest);
    y = fused(y, rest, y);
    y = fused(y, fused(-x, y, 1.0), y);
    return fused(y, fused(-x, y, 1.0), y);
}

// The factor of a block in a plain row. Where one piece of it will do and sums are f32, dividing in f32 has the bits of
// dividing in f64 and rounding (f64 has more than twice f32's bits and two to spare), and a power of two within the
// normal range commutes with both.
__device__ __forceinline__ BlockFactor<float> plain_factor(float row_sum, std::int32_t gap, float) {
    return {reciprocal_of_sum(row_sum) * power_of_two_f32(gap), 0.0f};
}
template <class Float>
__device__ __forceinline__ BlockFactor<Float> plain_factor(double row_sum, std::int32_t gap, Float) {
    return factor_in_pieces(power_of_two_f64(gap), row_sum, Float());
}

// What the factors of a row's blocks are made of. In f32 the inverse of the sum: dividing a power of two by the sum has
// the bits of multiplying it by the inverse, but where the factor is 0 either way.
__device__ __forceinline__ float factor_base(float sum, float) { return reciprocal_of_sum(sum); }
__device__ __forceinline__ double factor_base(double sum, float) { return reciprocal_of_sum(sum); }
__device__ __forceinline__ double factor_base(double sum, double) { return sum; }

__device__ __forceinline__ BlockFactor<float> factor_of(float base, std::int32_t gap, float) {
    return {base * power_of_two_f32(gap), 0.0f};
}
__device__ __forceinline__ BlockFactor<float> factor_of(double base, std::int32_t gap, float) {
    const double factor = base * power_of_two_f64(gap);
    const float high = static_cast<float>(factor);
    return {high, static_cast<float>(factor - static_cast<double>(high))};
}
__device__ __forceinline__ BlockFactor<double> factor_of(double base, std::int32_t gap, double) {
    return factor_in_pieces(power_of_two_f64(gap), base, double());
}

// What log-softmax needs to know of any row.
template <class Float>
struct LogRow {
    RowKind kind;
    LogPieces<Float> pieces; // where the kind is ordinary
};

template <class Float, class Sum>
__device__ __noinline__ LogRow<Float> log_row(RowState<Float, Sum> total) {
    const RowKind kind = row_kind(total.maximum);
    return {kind, kind == RowKind::ordinary ? log_pieces<Float>(row_logsumexp(total.maximum, total.sum))
                                            : LogPieces<Float>{0, 0}};
}

template <class Float, class Sum>
__device__ __noinline__ void store_row_logsumexp(RowState<Float, Sum> row, void *output, std::size_t index) {
    store_logsumexp(row.maximum, row.sum, output, index);
}

// From a block's exponentials to its outputs.
template <class T, class Places, class Float>
__device__ __forceinline__ void finish_softmax(const SoftmaxArguments &a, BlockFactor<Float> factor, std::size_t first,
                                               int count, Float (&e)[lane_elements]) {
    if (block_takes_two_pieces<T, Places>(a)) {
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
    store_block<T, Places>(a, first, count, e);
}

// The outputs of a block whose maximum, or whose row's, is unusual. A maximum of 0 may be that of an unframed block.
template <class T, class Places, class Float, class Sum>
__device__ __noinline__ void finish_unusual_softmax(const SoftmaxArguments &a, const T *data, std::size_t first,
                                                    int count, Float maximum, RowState<Float, Sum> total) {
    const RowKind kind = row_kind(total.maximum);
    if (kind != RowKind::ordinary) {
        store_special<Float>(a, first, count, kind);
        return;
    }
    if (maximum == Float(0)) {
        maximum = maximum_again<T, Places, Float>(a, data, count);
    }
    BlockAgain<T, Places> block(a, data, count, maximum);
    finish_softmax<T, Places>(a, block_factor(maximum, total.maximum, total.sum), first, count, block.e);
}

// From a block's logits to its outputs of log-softmax.
template <class T, class Places, class Logits, class Float>
__device__ __forceinline__ void finish_log_softmax(const SoftmaxArguments &a, const LogRow<Float> &row,
                                                   std::size_t first, int count, const Logits &x) {
    if (row.kind != RowKind::ordinary) {
        store_special<Float>(a, first, count, row.kind);
        return;
    }
    Float y[lane_elements];
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) {
        y[i] = log_softmax_output(x[i], row.pieces);
    }
    store_block<T, Places>(a, first, count, y);
}

} // namespace wr::cuda
