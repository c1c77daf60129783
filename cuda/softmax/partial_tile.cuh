// A tile of which the leading elements take part: its extremes, its exponentials and its state, vector by vector,
// so that what is left out costs nothing.
#pragma once

#include "cuda/softmax/sub_warp/vectors.cuh"

namespace wr::cuda {

__device__ __forceinline__ void zero(float (&e)[lane_elements]) {
#pragma unroll
    for (float &each : e) {
        each = 0.0f;
    }
}

// A lane's logits of a tile, vector by vector: putting others in the place of what stands behind the tile's end, and
// the extremes. The lower one says nothing about NaN; of wide logits it is 0 where none is below.
struct WideParts {
    using Filling = float;
    using Extreme = float;
    static constexpr int elements = vector_elements<float>;

    template <class Logits>
    __device__ __forceinline__ static float first(const Logits &x) {
        return __shfl_sync(whole_warp, x.x[0], 0);
    }
    template <class Logits>
    __device__ __forceinline__ static void fill(Logits &x, int v, int left, float value) {
#pragma unroll
        for (int i = 0; i < elements; ++i) {
            x.x[v * elements + i] = i < left ? x.x[v * elements + i] : value;
        }
    }
    template <class Logits>
    __device__ __forceinline__ static void take(const Logits &x, int v, float &least, float &largest) {
#pragma unroll
        for (int i = 0; i < elements; ++i) {
            largest = v + i == 0 ? x.x[0] : larger_with_nan(largest, x.x[v * elements + i]);
            least = v + i == 0 ? x.x[0] : lower_below_zero(least, x.x[v * elements + i]);
        }
    }
    template <class Logits>
    __device__ __forceinline__ static void settle(const Logits &, bool, float least, float largest, float &lowest,
                                                  float &highest) {
        lowest = fminf(least, 0.0f);
        highest = largest;
    }
};
template <class Half>
struct VectorRowsParts {
    using Filling = unsigned; // a pair
    using Extreme = unsigned;
    static constexpr int words = vector_elements<Half> / 2;

    template <class Logits>
    __device__ __forceinline__ static unsigned first(const Logits &x) {
        return __byte_perm(__shfl_sync(whole_warp, x.pairs[0], 0), 0, 0x1010);
    }
    template <class Logits>
    __device__ __forceinline__ static void fill(Logits &x, int v, int left, unsigned value) {
#pragma unroll
        for (int i = 0; i < words; ++i) {
            const unsigned behind = bits_from(larger(16 * left - 32 * i, 0));
            unsigned &pair = x.pairs[v * words + i];
            pair = (pair & ~behind) | (value & behind);
        }
    }
    template <class Logits>
    __device__ __forceinline__ static void take(const Logits &x, int v, unsigned &least, unsigned &largest) {
#pragma unroll
        for (int i = 0; i < words; ++i) {
            largest = v + i == 0 ? x.pairs[0] : larger_pair(largest, x.pairs[v * words + i], Half());
            least = v + i == 0 ? x.pairs[0] : smaller_pair(least, x.pairs[v * words + i], Half());
        }
    }
    template <class Logits>
    __device__ __forceinline__ static void settle(const Logits &x, bool scaled, unsigned least, unsigned largest,
                                                  float &lowest, float &highest) {
        highest = larger_with_nan(Logits::half_of(largest, 0), Logits::half_of(largest, 1));
        lowest = fminf(Logits::half_of(least, 0), Logits::half_of(least, 1));
        if (scaled) {
            const float one = highest * x.scale, other = lowest * x.scale;
            highest = larger_with_nan(one, other);
            lowest = fminf(one, other);
        }
    }
};
template <class T>
using PartsOf = std::conditional_t<sizeof(T) == 2, VectorRowsParts<T>, WideParts>;

// The extremes of a lane's vectors from V on, the last of which, number `last`, ends after `left` elements of the
// lane's.
template <class T, int V, class Logits, class Extreme, class Filling>
__device__ __forceinline__ void take_vectors(Logits &x, int last, int left, Filling value, Extreme &least,
                                             Extreme &largest) {
    using Parts = PartsOf<T>;
    if (V == lane_vectors<T> - 1 || last == V) {
        Parts::fill(x, V, left, value);
        Parts::take(x, V, least, largest);
    } else {
        Parts::take(x, V, least, largest);
        if constexpr (V < lane_vectors<T> - 1) {
            take_vectors<T, V + 1>(x, last, left, value, least, largest);
        }
    }
}

// The exponentials of the same and the trees over each vector's.
template <class T, int V, bool Normal, class Sum, class Exponential>
__device__ __forceinline__ void form_vectors(int last, int left, float (&e)[lane_elements],
                                             Sum (&sums)[lane_vectors<T>], Exponential exponential) {
    constexpr int elements = vector_elements<T>;
    float *const mine = e + V * elements;
#pragma unroll
    for (int i = 0; i < elements; ++i) {
        mine[i] = exponential(V * elements + i);
    }
    if (V == lane_vectors<T> - 1 || last == V) {
        const unsigned behind = bits_from(larger(left, 0));
#pragma unroll
        for (int i = 0; i < elements; ++i) {
            mine[i] = (behind & 1u << i) == 0 ? mine[i] : 0.0f;
        }
        sums[V] = run_sum<elements, Sum>(mine);
#pragma unroll
        for (int v = V + 1; v < lane_vectors<T>; ++v) {
            sums[v] = Sum(0);
        }
    } else {
        sums[V] = run_sum<elements, Sum, Normal>(mine);
        if constexpr (V < lane_vectors<T> - 1) {
            form_vectors<T, V + 1, Normal>(last, left, e, sums, exponential);
        }
    }
}

// The natural tree over the exponentials of the same. Vectors behind the last are not looked at.
template <class T, class Load, bool Normal, class Sum, class Exponential>
__device__ __forceinline__ Sum sum_of_leading_exponentials(int last, int left, float (&e)[lane_elements],
                                                           Exponential exponential) {
    constexpr int half = lane_vectors<T> / 2;
    Sum sums[lane_vectors<T>];
    form_vectors<T, 0, Normal>(last, left, e, sums, exponential);
    Sum halves[half];
#pragma unroll
    for (int v = 0; v < half; ++v) {
        halves[v] = exchange_pair<FloatSum<Sum>, 0>(sums[v], sums[v + half]);
    }
    return warp_tree<FloatSum<Sum>, 1>(halves);
}

// The exponentials of a tile of `count` elements and its state at `state`. Where n is special_n they are zeros; behind
// the last vector that has an element `e` stays as it came, so that who looks there has to bring zeros. Load: how the
// logits are read again where the maximum is special. What x holds behind the elements does not matter and does not
// stay; of no elements all its logits are -infinity. Plain: no use for the tile's maximum. The sum, in every lane.
template <class T, class Load, class Sum, class Data, class Logits>
__device__ __forceinline__ Sum partial_tile_state(const SoftmaxArguments &a, const Data &data, int count, Logits &x,
                                                  float (&e)[lane_elements], TileState<float, Sum> *state, bool plain) {
    using C = ExponentialConstants<float>;
    using Parts = PartsOf<T>;
    constexpr unsigned distance = warp_lanes * vector_elements<T>;
    typename Parts::Extreme least, largest;
    const typename Parts::Filling value = Parts::first(x);
    // Of no elements, which are all -infinity, no vector is the last, and nothing is filled.
    const unsigned before_last = static_cast<unsigned>(count) - 1;
    const int last = static_cast<int>(before_last / distance),
              left = static_cast<int>(before_last % distance) + 1 - lane_index() * vector_elements<T>;
    take_vectors<T, 0>(x, last, left, value, least, largest);
    float lowest, maximum;
    Parts::settle(x, a.scaled, least, largest, lowest, maximum);
    const bool small = maximum < zero_exponent_range<T> && lowest > -zero_exponent_range<T>;
    const bool at_zero_exponent = __all_sync(whole_warp, plain && !(sizeof(T) == 2 && a.scaled) && small) != 0;
    maximum = at_zero_exponent ? 0.0f : warp_maximum(maximum);
    const std::int32_t nearest = nearest_exponent(maximum);
    const bool ordinary = is_ordinary(maximum);
    if (lane_index() == 0) {
        state->maximum = maximum;
        state->n = nearest;
    }
    Sum sum = Sum(0);
    if (is_special(maximum)) {
        zero(e);
        if (lane_index() == 0) {
            state->n = state_n(maximum);
        }
        sum = special_tile_sum<T, Load, float, Sum>(a, address_in(data), count, maximum);
    } else {
        const bool absent = !ordinary;
        if (absent && lane_index() == 0) {
            state->n = absent_n;
        }
        const float bound = absent ? std::numeric_limits<float>::infinity() : maximum - C::reach;
        const float magic_less_n = C::magic - static_cast<float>(nearest);
        if (!(sizeof(T) == 2 && a.scaled) && __all_sync(whole_warp, lowest > bound) != 0) {
            sum = sum_of_leading_exponentials<T, Load, true, Sum>(
                last, left, e, [&](int i) { return scaled_exponential(x.plain_value(i), magic_less_n); });
        } else {
            sum = sum_of_leading_exponentials<T, Load, false, Sum>(last, left, e, [&](int i) {
                const float logit = x[i];
                const float result = scaled_exponential(logit, magic_less_n);
                return logit > bound ? result : 0.0f;
            });
        }
    }
    if (lane_index() == 0) {
        state->sum = sum;
    }
    return sum;
}

// tile_state, but of a block that is not whole, where Leads, like the above. Of no elements, as warps behind the last
// row have them, every logit is -infinity.
template <class T, class Load, class Sum, ZeroExponent Which, bool Leads, class Data, class Logits, class Float>
__device__ __forceinline__ Sum row_tile_state(const SoftmaxArguments &a, const Data &data, int count, Logits &x,
                                              Float (&e)[lane_elements], TileState<Float, Sum> *state,
                                              std::int32_t &frame) {
    if constexpr (Leads) {
        const int leading = same_in_warp(count);
        if (leading != static_cast<int>(softmax_block)) {
            zero(e);
            const Sum sum = partial_tile_state<T, Load, Sum>(a, data, leading, x, e, state, !wants_row_values(a));
            __syncwarp();
            frame = state->n;
            return sum;
        }
    }
    return tile_state<T, Load, Float, Sum, Which>(a, data, count, x, e, state, frame);
}

} // namespace wr::cuda
