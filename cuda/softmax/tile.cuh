// A tile of 1024 elements in a warp's registers: its exponentials, their sum, its state.
#pragma once

#include "cuda/device/warp_tree.cuh"
#include "cuda/softmax/logits.cuh"

namespace wr::cuda {

// The exponentials of one lane's run of neighbours, and their tree.
template <class Load, class Sum, bool Normal, class Float, class Exponential>
__device__ __forceinline__ Sum run_of_exponentials(int run, Float (&e)[lane_elements], Exponential exponential) {
#pragma unroll
    for (int i = run * Load::run; i < (run + 1) * Load::run; ++i) {
        e[i] = exponential(i);
    }
    return run_sum<Load::run, Sum, Normal>(e + run * Load::run);
}

// The tree over the exponentials of a rotated tile.
__device__ __forceinline__ float sum_of_rotated(int skew, const float (&e)[lane_elements]) {
    float eights[rotated_vectors], sums[rotated_vectors / 2];
    add_eights(skew, e, eights);
#pragma unroll
    for (int v = 0; v < rotated_vectors / 2; ++v) {
        sums[v] = exchange_pair<FloatSum<float>, 0>(eights[v], eights[v + rotated_vectors / 2]);
    }
    return warp_tree<FloatSum<float>, 1>(sums);
}

// The tile's exponentials and the natural tree over them. Runs are taken in the pairs that the first step of the
// exchange brings together, so that half as many sums wait in registers.
template <class Load, class Sum, bool Normal = false, class Logits, class Float, class Exponential>
__device__ __forceinline__ Sum sum_of_exponentials(const Logits &x, Float (&e)[lane_elements],
                                                   Exponential exponential) {
    if constexpr (is_rotated<Load>) {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            e[i] = exponential(i);
        }
        return sum_of_rotated(x.skew, e);
    }
    constexpr int half = lane_elements / Load::run / 2;
    Sum sums[half];
#pragma unroll
    for (int run = 0; run < half; ++run) {
        const Sum low = run_of_exponentials<Load, Sum, Normal>(run, e, exponential);
        const Sum high = run_of_exponentials<Load, Sum, Normal>(run + half, e, exponential);
        sums[run] = exchange_pair<FloatSum<Sum>, 0>(low, high);
    }
    return warp_tree<FloatSum<Sum>, 1>(sums);
}

// The frame's exponent N of an ordinary tile as states carry it, and what stands for it where a tile has none. A
// tile of low logits, as masks make them, has exponentials of 0 as one of -infinity has, for an ordinary row is so far
// above it that it has no part in it; but it has a sum, for rows of such tiles alone.
inline constexpr std::int32_t absent_n = std::numeric_limits<std::int32_t>::min() / 2; // -infinity alone
inline constexpr std::int32_t low_n = absent_n + 1;                                    // nothing above lowest_logit
inline constexpr std::int32_t special_n = std::numeric_limits<std::int32_t>::max();    // large logits, +infinity, NaN
inline constexpr double lowest_logit = -2 * large_logit;

// Whether a tile's exponentials are there, all 0 in a tile of low 16-bit logits. Others are not even that: f32 loses
// 1 to 2 % where these are.
template <class T>
inline constexpr bool zeroes_low_tiles = sizeof(T) == 2;
template <class T>
__device__ __forceinline__ bool has_exponentials(std::int32_t n) {
    return n != special_n && (zeroes_low_tiles<T> || n != low_n);
}

__device__ __forceinline__ bool is_frame(std::int32_t n) { return n > low_n && n != special_n; }

template <class Float, class Sum>
struct alignas(16) TileState {
    Float maximum;
    std::int32_t n;
    Sum sum;
};

// Where state number i lies in shared memory: lanes that each take eight in a row meet different banks.
__host__ __device__ constexpr int state_place(int i) { return i + i / 8; }

template <class Float>
__device__ __forceinline__ std::int32_t state_n(Float maximum) {
    if (is_ordinary(maximum)) {
        return nearest_exponent(maximum);
    }
    return maximum == -std::numeric_limits<Float>::infinity() ? absent_n
           : maximum < Float(lowest_logit)                    ? low_n
                                                              : special_n;
}

// The same for those who merge states in a plain row: a tile of low logits has no more part in it than an absent one,
// and a row of such tiles alone is not plain either way.
template <class Float>
__device__ __forceinline__ std::int32_t merging_n(Float maximum) {
    return is_ordinary(maximum) ? nearest_exponent(maximum) : maximum < Float(lowest_logit) ? absent_n : special_n;
}

// A tile whose logits all have magnitudes below this is formed in the frame N = 0 by those who have no use for its
// maximum, and its state says 0 in that place: powers of two are exact, so that a row has the bits it has in frames of
// its own. The bound keeps all that is rounded within the normal range in either frame: N of such a tile is at most 38
// (f32) or 46 from 0, a row's sum below 2^19 in its own frame, and the lower piece of a factor of f32 outputs reaches
// 53 bits below it.
template <class T>
inline constexpr float zero_exponent_range = sizeof(T) == 2 ? 32.0f : 26.0f;

// 16-bit elements that are converted have no registers for both ways (bf16 of 4096 into f32: 3.43 TB/s on an H200, with
// frame N = 0 2.93).
template <class T, class Load, bool Log>
inline constexpr bool may_take_zero_exponent =
    !Log && Load::vectors && sizeof(T) < sizeof(double) && !(sizeof(T) == 2 && converts<Load>);

// Whether tiles are: where no row values are wanted, or then too. With them their state has the true maximum, and
// their exponentials a frame that is not its n, for which tiles off the boundaries have no register.
enum class ZeroExponent { never, without_row_values, always };

template <class T, class Load, bool Log>
inline constexpr ZeroExponent zero_exponent_tiles = !may_take_zero_exponent<T, Load, Log> ? ZeroExponent::never
                                                    : keeps_vectors<Load>                 ? ZeroExponent::always
                                                                          : ZeroExponent::without_row_values;

// How far below its row's such a frame may be without a look at what the factor comes to.
template <class T>
inline constexpr std::int32_t zero_exponent_gap = sizeof(T) == 2 ? 56 : 38;

// Of a tile that may be one of these, whether its factor beneath `row` has the bits of the one in a frame of its own.
// Far below, both have to be normal with all of their pieces: N of its own frame is no less than any of its
// exponentials tells, and of `one` of each lane one is large enough but for the rarest.
template <class T, class Row, class Float>
__device__ __forceinline__ bool reaches_row(std::int32_t n, const Row &row, Float one) {
    constexpr float least = sizeof(T) == 2 ? 0x1p-125f : 0x1p-97f;
    if (n != 0 || n - row.n >= -zero_exponent_gap<T>) {
        return true;
    }
    const float factor = inverse_of_sum(row) * power_of_two_f32(n - row.n);
    const unsigned largest = __reduce_max_sync(whole_warp, __float_as_uint(static_cast<float>(one)));
    return factor >= least && factor * __uint_as_float(largest) >= 2 * least;
}

// Whether outputs of this type take both pieces of a tile's factor.
__device__ __forceinline__ bool takes_two_pieces(ElementType output_type) {
    return output_type == ElementType::f32 || output_type == ElementType::f64;
}

// Whether outputs of this type can be those of tiles in frame N = 0: the lower pieces of 16-bit logits' factors may be
// subnormal there.
template <class T, class Load>
__device__ __forceinline__ bool reaches_outputs(ElementType output_type) {
    return sizeof(T) > 2 || !has_any_output<Load> || !takes_two_pieces(output_type);
}

// Such a tile's maximum, which its state does not know.
template <class T, class Load, class Float>
__device__ __forceinline__ Float maximum_again(const SoftmaxArguments &a, const T *data, int count) {
    Float lowest, highest;
    TileLogits<T, LoadInOrder<Load>>(a, data, count).extremes(a.scaled, lowest, highest);
    return warp_maximum(highest);
}

// A tile's logits read again, its exponentials whatever its maximum, and their sum. Tiles of large logits, +infinity
// or NaN are rare: what they need stays behind calls, so that the others keep their registers. The memory is still the
// input's, in place too: only this warp writes it.
template <class T, class Load>
struct TileAgain {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    Float e[lane_elements];
    Sum sum;

    __device__ __forceinline__ TileAgain(const SoftmaxArguments &a, const T *data, int count, Float maximum) {
        const TileLogits<T, Load> x(a, data, count);
        const Frame<Float> frame = frame_of(maximum);
        sum = sum_of_exponentials<Load, Sum>(x, e, [&](int i) { return exponential_in(frame, x[i]); });
    }
};

template <class T, class Load, class Float, class Sum>
__device__ __noinline__ Sum special_tile_sum(const SoftmaxArguments &a, const T *data, int count, Float maximum) {
    return settle_block_sum(maximum, TileAgain<T, LoadInOrder<Load>>(a, data, count, maximum).sum);
}

// Where a tile's logits are that are seldom read again: an address, or what makes it, for which no register waits.
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
__device__ __forceinline__ bool is_special(Float maximum) {
    return !is_ordinary(maximum) && maximum != -std::numeric_limits<Float>::infinity();
}

// The tile's exponentials and their sum, in every lane, where its maximum is ordinary. The logits are here, or are
// read again as Load says. note(maximum, n, frame) is called before the exponentials are formed, so that a caller who
// writes these down needs no registers for them: n goes with the maximum and the sum, and the frame is the
// exponentials' own. TestedOnly: without a way of its own for tiles in which no exponential needs a test.
template <class T, class Load, class Float, class Sum, bool TestedOnly = false, class Logits, class Note>
__device__ __forceinline__ Sum ordinary_tile_sum(const SoftmaxArguments &a, const Logits &x, Float lowest,
                                                 Float maximum, Float (&e)[lane_elements], Note note) {
    using C = ExponentialConstants<Float>;
    const bool absent = maximum == -std::numeric_limits<Float>::infinity();
    const Float bound = absent ? std::numeric_limits<Float>::infinity() : maximum - C::reach;
    const std::int32_t nearest = nearest_exponent(maximum);
    const Float magic_less_n = C::magic - static_cast<Float>(nearest);
    const std::int32_t n = absent ? absent_n : nearest;
    note(maximum, n, n);
    if constexpr (has_plain_tiles<T, Load> && !TestedOnly) {
        // In nearly every tile no exponential needs a test, or is 0.
        if (!(is_packed<T, Load> && a.scaled) && __all_sync(whole_warp, lowest > bound) != 0) {
            return sum_of_exponentials<Load, Sum, true>(
                x, e, [&](int i) { return scaled_exponential(x.plain_value(i), magic_less_n); });
        }
    }
    return sum_of_exponentials<Load, Sum>(x, e, [&](int i) {
        const Float value = x[i];
        const Float result = scaled_exponential(value, magic_less_n);
        return value > bound ? result : Float(0);
    });
}

// The same whatever the maximum is. Where n is special_n or low_n there are no exponentials. Not `never`: the state is
// for plain softmax, unless `log` says otherwise.
template <class T, class Load, class Float, class Sum, ZeroExponent Which = ZeroExponent::never, class Data,
          class Logits, class Note>
__device__ __forceinline__ Sum tile_sum(const SoftmaxArguments &a, const Data &data, int count, const Logits &x,
                                        Float (&e)[lane_elements], Note note, bool log = false) {
    if constexpr (Which != ZeroExponent::never) {
        const bool wanted =
            !log && (Which == ZeroExponent::always || !wants_row_values(a)) && reaches_outputs<T, Load>(a.output_type);
        const bool plain = wanted && !(is_packed<T, Load> && a.scaled);
        if (__all_sync(whole_warp, plain && x.within(zero_exponent_range<T>)) != 0) {
            Float lowest, maximum = 0;
            std::int32_t n = 0;
            if (Which == ZeroExponent::always && wants_row_values(a)) {
                x.extremes(false, lowest, maximum);
                maximum = warp_maximum(maximum);
                n = nearest_exponent(maximum);
            }
            note(maximum, n, 0);
            const Sum sum = sum_of_exponentials<Load, Sum, true>(
                x, e, [&](int i) { return scaled_exponential(x.plain_value(i), ExponentialConstants<Float>::magic); });
            return Which == ZeroExponent::always ? scale_by_power(sum, -n) : sum;
        }
    }
    Float lowest, maximum;
    x.extremes(a.scaled, lowest, maximum);
    maximum = warp_maximum(maximum);
    if (is_special(maximum)) {
        const std::int32_t n = maximum < Float(lowest_logit) ? low_n : special_n;
        note(maximum, n, n);
        if constexpr (zeroes_low_tiles<T>) {
#pragma unroll
            for (Float &one : e) {
                one = Float(0);
            }
        }
        return special_tile_sum<T, Load, Float, Sum>(a, address_in(data), count, maximum);
    }
    return ordinary_tile_sum<T, Load, Float, Sum, Which != ZeroExponent::never>(a, x, lowest, maximum, e, note);
}

// The same, with the block's state left at `state`, in shared memory, and the exponentials' frame at `frame`.
template <class T, class Load, class Float, class Sum, ZeroExponent Which = ZeroExponent::never, class Data,
          class Logits>
__device__ __forceinline__ Sum tile_state(const SoftmaxArguments &a, const Data &data, int count, const Logits &x,
                                          Float (&e)[lane_elements], TileState<Float, Sum> *state, std::int32_t &frame,
                                          bool log = false) {
    const auto note = [&](Float maximum, std::int32_t n, std::int32_t own_frame) {
        frame = own_frame;
        if (lane_index() == 0) {
            state->maximum = maximum;
            state->n = n;
        }
    };
    const Sum sum = tile_sum<T, Load, Float, Sum, Which>(a, data, count, x, e, note, log);
    if (lane_index() == 0) {
        state->sum = sum;
    }
    return sum;
}

// The same of a tile whose frame is its state's n.
template <class T, class Load, class Float, class Sum, ZeroExponent Which = ZeroExponent::never, class Data,
          class Logits>
__device__ __forceinline__ Sum tile_state(const SoftmaxArguments &a, const Data &data, int count, const Logits &x,
                                          Float (&e)[lane_elements], TileState<Float, Sum> *state, bool log = false) {
    static_assert(Which != ZeroExponent::always);
    std::int32_t frame;
    return tile_state<T, Load, Float, Sum, Which>(a, data, count, x, e, state, frame, log);
}

// The total of a row from the states of its tiles.

// The total of up to 32 states, lane l's being number l (-infinity and 0 behind the last), in every lane.
template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> merge_one_a_lane(RowState<Float, Sum> mine) {
    const Float maximum = warp_maximum(larger_with_nan(mine.maximum, mine.maximum));
    const Sum scaled = scale_by_power(mine.sum, frame_gap(mine.maximum, maximum));
    return {maximum, tree_over_lanes<FloatSum<Sum>>(scaled, warp_lanes)};
}
template <class Float, class Sum>
__device__ __noinline__ RowState<Float, Sum> merge_any_lanes(RowState<Float, Sum> mine) {
    return merge_one_a_lane(mine);
}

// The total of `count` states of blocks or rows in shared memory, whatever they are, in every lane.
template <template <class, class> class State, class Float, class Sum>
__device__ __noinline__ RowState<Float, Sum> merge_any_states(const State<Float, Sum> *states, int count) {
    if (count <= warp_lanes) {
        RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
        if (lane_index() < count) {
            const State<Float, Sum> &own = states[state_place(lane_index())];
            mine = {own.maximum, own.sum};
        }
        return merge_one_a_lane(mine);
    }
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

// The total of a row as its blocks see it where it is plain: its largest block is ordinary. Elsewhere `n` is no
// frame.
template <class Sum>
struct RowView {
    Sum sum;
    std::int32_t n;

    __device__ __forceinline__ bool plain() const { return is_frame(n); }
};

// The row of `count` blocks whose states lie in shared memory, PerLane of them for each of Span lanes, which all groups
// of lanes repeat. Both are powers of two whose product is not below `count`.
template <int PerLane, int Span, class Float, class Sum>
__device__ __forceinline__ RowView<Sum> merge_states(const TileState<Float, Sum> *states, int count) {
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

} // namespace wr::cuda
