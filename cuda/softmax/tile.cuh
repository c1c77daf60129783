// A base block of 1024 elements in a warp's registers: its exponentials, their sum, its state.
#pragma once

#include "cuda/device/run_sum.cuh"
#include "cuda/softmax/logits.cuh"

namespace wr::cuda {

// The exponentials of one lane's run of neighbours, and their tree.
template <class Places, class Sum, bool Normal, class Float, class Exponential>
__device__ __forceinline__ Sum run_of_exponentials(int run, Float (&e)[lane_elements], Exponential exponential) {
#pragma unroll
    for (int i = run * Places::run; i < (run + 1) * Places::run; ++i) {
        e[i] = exponential(i);
    }
    return run_sum<Places::run, Sum, Normal>(e + run * Places::run);
}

// The tree over the exponentials of a rotated block.
__device__ __forceinline__ float sum_of_rotated(int skew, const float (&e)[lane_elements]) {
    float eights[rotated_vectors], sums[rotated_vectors / 2];
    add_eights(skew, e, eights);
#pragma unroll
    for (int v = 0; v < rotated_vectors / 2; ++v) {
        sums[v] = exchange_pair<FloatSum<float>, 0>(eights[v], eights[v + rotated_vectors / 2]);
    }
    return warp_tree<FloatSum<float>, 1>(sums);
}

// The block's exponentials and the natural tree over them. Runs are taken in the pairs that the first step of the
// exchange brings together, so that half as many sums wait in registers.
template <class Places, class Sum, bool Normal = false, class Block, class Float, class Exponential>
__device__ __forceinline__ Sum sum_of_exponentials(const Block &x, Float (&e)[lane_elements], Exponential exponential) {
    if constexpr (is_rotated<Places>) {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            e[i] = exponential(i);
        }
        return sum_of_rotated(x.skew, e);
    }
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

// The frame's exponent N of an ordinary block as states carry it, and what stands for it where a block has none. A
// block of low logits, as masks make them, has exponentials of 0 as one of -infinity has, for an ordinary row is so far
// above it that it has no part in it; but it has a sum, for rows of such blocks alone.
inline constexpr std::int32_t absent_n = std::numeric_limits<std::int32_t>::min() / 2; // -infinity alone
inline constexpr std::int32_t low_n = absent_n + 1;                                    // nothing above lowest_logit
inline constexpr std::int32_t unusual_n = std::numeric_limits<std::int32_t>::max();    // large logits, +infinity, NaN
inline constexpr double lowest_logit = -2 * large_logit;

// Whether a block's exponentials are there, all 0 in a block of low 16-bit logits. Others are not even that: f32 loses
// 1 to 2 % where these are.
template <class T>
inline constexpr bool zeroes_low_blocks = sizeof(T) == 2;
template <class T>
__device__ __forceinline__ bool has_exponentials(std::int32_t n) {
    return n != unusual_n && (zeroes_low_blocks<T> || n != low_n);
}

__device__ __forceinline__ bool is_frame(std::int32_t n) { return n > low_n && n != unusual_n; }

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
    return maximum == -std::numeric_limits<Float>::infinity() ? absent_n
           : maximum < Float(lowest_logit)                    ? low_n
                                                              : unusual_n;
}

// The same for those who merge states in a plain row: a block of low logits has no more part in it than an absent one,
// and a row of such blocks alone is not plain either way.
template <class Float>
__device__ __forceinline__ std::int32_t merging_n(Float maximum) {
    return is_ordinary(maximum) ? nearest_exponent(maximum) : maximum < Float(lowest_logit) ? absent_n : unusual_n;
}

// A block whose logits all have magnitudes below this is formed in the frame N = 0 by those who have no use for its
// maximum, and its state says 0 in that place: powers of two are exact, so that a row has the bits it has in frames of
// its own. The bound keeps all that is rounded within the normal range in either frame: N of such a block is at most 38
// (f32) or 46 from 0, a row's sum below 2^19 in its own frame, and the lower piece of a factor of f32 outputs reaches
// 53 bits below it.
template <class T>
inline constexpr float unframed_reach = sizeof(T) == 2 ? 32.0f : 26.0f;

// 16-bit elements that are converted have no registers for both ways (bf16 of 4096 into f32: 3.43 TB/s on an H200, with
// frame N = 0 2.93).
template <class T, class Places, bool Log>
inline constexpr bool may_be_unframed =
    !Log && Places::vectors && sizeof(T) < sizeof(double) && !(sizeof(T) == 2 && converts<Places>);

// Whether blocks are: where no row values are wanted, or then too. With them their state has the true maximum, and
// their exponentials a frame that is not its n, for which blocks off the boundaries have no register.
enum class Unframed { never, without_row_values, always };

template <class T, class Places, bool Log>
inline constexpr Unframed unframed_blocks = !may_be_unframed<T, Places, Log> ? Unframed::never
                                            : keeps_vectors<Places>          ? Unframed::always
                                                                             : Unframed::without_row_values;

// How far below its row's such a frame may be without a look at what the factor comes to.
template <class T>
inline constexpr std::int32_t unframed_gap = sizeof(T) == 2 ? 56 : 38;

// Of a block that may be one of these, whether its factor beneath `row` has the bits of the one in a frame of its own.
// Far below, both have to be normal with all of their pieces: N of its own frame is no less than any of its
// exponentials tells, and of `one` of each lane one is large enough but for the rarest.
template <class T, class Row, class Float>
__device__ __forceinline__ bool reaches_row(std::int32_t n, const Row &row, Float one) {
    constexpr float least = sizeof(T) == 2 ? 0x1p-125f : 0x1p-97f;
    if (n != 0 || n - row.n >= -unframed_gap<T>) {
        return true;
    }
    const float factor = inverse_of_sum(row) * power_of_two_f32(n - row.n);
    const unsigned largest = __reduce_max_sync(whole_warp, __float_as_uint(static_cast<float>(one)));
    return factor >= least && factor * __uint_as_float(largest) >= 2 * least;
}

// Whether outputs of this type take both pieces of a block's factor.
__device__ __forceinline__ bool takes_two_pieces(ElementType output_type) {
    return output_type == ElementType::f32 || output_type == ElementType::f64;
}

// Whether outputs of this type can be those of blocks in frame N = 0: the lower pieces of 16-bit logits' factors may be
// subnormal there.
template <class T, class Places>
__device__ __forceinline__ bool reaches_outputs(ElementType output_type) {
    return sizeof(T) > 2 || !has_any_output<Places> || !takes_two_pieces(output_type);
}

// Such a block's maximum, which its state does not know.
template <class T, class Places, class Float>
__device__ __forceinline__ Float maximum_again(const SoftmaxArguments &a, const T *data, int count) {
    Float lowest, highest;
    BlockLogits<T, PlacesInOrder<Places>>(a, data, count).extremes(a.scaled, lowest, highest);
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
        sum = sum_of_exponentials<Places, Sum>(x, e, [&](int i) { return exponential_in(frame, x[i]); });
    }
};

template <class T, class Places, class Float, class Sum>
__device__ __noinline__ Sum unusual_block_sum(const SoftmaxArguments &a, const T *data, int count, Float maximum) {
    return settle_block_sum(maximum, BlockAgain<T, PlacesInOrder<Places>>(a, data, count, maximum).sum);
}

// Where a block's logits are that are seldom read again: an address, or what makes it, for which no register waits.
template <class Data>
__device__ __forceinline__ auto address_in(const Data &data) {
    if constexpr (std::is_pointer_v<Data>) {
        return data;
    } else {
        return data();
    }
}

// Large logits, +infinity or NaN.
template <class Float>
__device__ __forceinline__ bool is_unusual(Float maximum) {
    return !is_ordinary(maximum) && maximum != -std::numeric_limits<Float>::infinity();
}

// The block's exponentials and their sum, in every lane, where its maximum is not unusual. The logits are here, or are
// read again as Places says. note(maximum, n, frame) is called before the exponentials are formed, so that a caller who
// writes these down needs no registers for them: n goes with the maximum and the sum, and the frame is the
// exponentials' own. TestedOnly: without a way of its own for blocks in which no exponential needs a test.
template <class T, class Places, class Float, class Sum, bool TestedOnly = false, class Block, class Note>
__device__ __forceinline__ Sum ordinary_block_sum(const SoftmaxArguments &a, const Block &x, Float lowest,
                                                  Float maximum, Float (&e)[lane_elements], Note note) {
    using C = ExponentialConstants<Float>;
    const bool absent = maximum == -std::numeric_limits<Float>::infinity();
    const Float bound = absent ? std::numeric_limits<Float>::infinity() : maximum - C::reach;
    const std::int32_t nearest = nearest_exponent(maximum);
    const Float magic_less_n = C::magic - static_cast<Float>(nearest);
    const std::int32_t n = absent ? absent_n : nearest;
    note(maximum, n, n);
    if constexpr (has_plain_blocks<T, Places> && !TestedOnly) {
        // In nearly every block no exponential needs a test, or is 0.
        if (!(is_packed<T, Places> && a.scaled) && __all_sync(whole_warp, lowest > bound) != 0) {
            return sum_of_exponentials<Places, Sum, true>(
                x, e, [&](int i) { return scaled_exponential(x.plain_value(i), magic_less_n); });
        }
    }
    return sum_of_exponentials<Places, Sum>(x, e, [&](int i) {
        const Float value = x[i];
        const Float result = scaled_exponential(value, magic_less_n);
        return value > bound ? result : Float(0);
    });
}

// The same whatever the maximum is. Where n is unusual_n or low_n there are no exponentials. Not `never`: the state is
// for plain softmax, unless `log` says otherwise.
template <class T, class Places, class Float, class Sum, Unframed Which = Unframed::never, class Data, class Block,
          class Note>
__device__ __forceinline__ Sum block_sum(const SoftmaxArguments &a, const Data &data, int count, const Block &x,
                                         Float (&e)[lane_elements], Note note, bool log = false) {
    if constexpr (Which != Unframed::never) {
        const bool wanted =
            !log && (Which == Unframed::always || !wants_row_values(a)) && reaches_outputs<T, Places>(a.output_type);
        const bool plain = wanted && !(is_packed<T, Places> && a.scaled);
        if (__all_sync(whole_warp, plain && x.within(unframed_reach<T>)) != 0) {
            Float lowest, maximum = 0;
            std::int32_t n = 0;
            if (Which == Unframed::always && wants_row_values(a)) {
                x.extremes(false, lowest, maximum);
                maximum = warp_maximum(maximum);
                n = nearest_exponent(maximum);
            }
            note(maximum, n, 0);
            const Sum sum = sum_of_exponentials<Places, Sum, true>(
                x, e, [&](int i) { return scaled_exponential(x.plain_value(i), ExponentialConstants<Float>::magic); });
            return Which == Unframed::always ? scale_by_power(sum, -n) : sum;
        }
    }
    Float lowest, maximum;
    x.extremes(a.scaled, lowest, maximum);
    maximum = warp_maximum(maximum);
    if (is_unusual(maximum)) {
        const std::int32_t n = maximum < Float(lowest_logit) ? low_n : unusual_n;
        note(maximum, n, n);
        if constexpr (zeroes_low_blocks<T>) {
#pragma unroll
            for (Float &one : e) {
                one = Float(0);
            }
        }
        return unusual_block_sum<T, Places, Float, Sum>(a, address_in(data), count, maximum);
    }
    return ordinary_block_sum<T, Places, Float, Sum, Which != Unframed::never>(a, x, lowest, maximum, e, note);
}

// The same, with the block's state left at `state`, in shared memory, and the exponentials' frame at `frame`.
template <class T, class Places, class Float, class Sum, Unframed Which = Unframed::never, class Data, class Block>
__device__ __forceinline__ Sum block_state(const SoftmaxArguments &a, const Data &data, int count, const Block &x,
                                           Float (&e)[lane_elements], BlockState<Float, Sum> *state,
                                           std::int32_t &frame, bool log = false) {
    const auto note = [&](Float maximum, std::int32_t n, std::int32_t own_frame) {
        frame = own_frame;
        if (lane_index() == 0) {
            state->maximum = maximum;
            state->n = n;
        }
    };
    const Sum sum = block_sum<T, Places, Float, Sum, Which>(a, data, count, x, e, note, log);
    if (lane_index() == 0) {
        state->sum = sum;
    }
    return sum;
}

// The same of a block whose frame is its state's n.
template <class T, class Places, class Float, class Sum, Unframed Which = Unframed::never, class Data, class Block>
__device__ __forceinline__ Sum block_state(const SoftmaxArguments &a, const Data &data, int count, const Block &x,
                                           Float (&e)[lane_elements], BlockState<Float, Sum> *state, bool log = false) {
    static_assert(Which != Unframed::always);
    std::int32_t frame;
    return block_state<T, Places, Float, Sum, Which>(a, data, count, x, e, state, frame, log);
}

} // namespace wr::cuda
