// A base block of which the leading elements take part: its extremes, its exponentials and its state, vector by vector,
// so that what is left out costs nothing.
#pragma once

#include "cuda/softmax_short_vectors.cuh"

namespace wr::cuda {

__device__ __forceinline__ void zero(float (&e)[lane_elements]) {
#pragma unroll
    for (float &each : e) {
        each = 0.0f;
    }
}

// A lane's logits of a block, vector by vector: putting others in the place of what stands behind the block's end, and
// the extremes. The lower one says nothing about NaN.
struct WideParts {
    using Filling = float;
    using Extreme = float;
    static constexpr int elements = vector_elements<float>;

    template <class Block>
    __device__ __forceinline__ static float first(const Block &x) {
        return __shfl_sync(whole_warp, x.x[0], 0);
    }
    template <class Block>
    __device__ __forceinline__ static void fill(Block &x, int v, int left, float value) {
#pragma unroll
        for (int i = 0; i < elements; ++i) {
            x.x[v * elements + i] = i < left ? x.x[v * elements + i] : value;
        }
    }
    template <class Block>
    __device__ __forceinline__ static void take(const Block &x, int v, float &least, float &largest) {
#pragma unroll
        for (int i = 0; i < elements; ++i) {
            largest = v + i == 0 ? x.x[0] : larger_with_nan(largest, x.x[v * elements + i]);
            least = v + i == 0 ? x.x[0] : fminf(least, x.x[v * elements + i]);
        }
    }
    template <class Block>
    __device__ __forceinline__ static void settle(const Block &, bool, float least, float largest, float &lowest,
                                                  float &highest) {
        lowest = least;
        highest = largest;
    }
};
template <class Half>
struct PackedParts {
    using Filling = unsigned; // a pair
    using Extreme = unsigned;
    static constexpr int words = vector_elements<Half> / 2;

    template <class Block>
    __device__ __forceinline__ static unsigned first(const Block &x) {
        return __byte_perm(__shfl_sync(whole_warp, x.pairs[0], 0), 0, 0x1010);
    }
    template <class Block>
    __device__ __forceinline__ static void fill(Block &x, int v, int left, unsigned value) {
#pragma unroll
        for (int i = 0; i < words; ++i) {
            const unsigned kept = left > 2 * i + 1 ? 0xFFFFFFFFu : left > 2 * i ? 0xFFFFu : 0u;
            unsigned &pair = x.pairs[v * words + i];
            pair = (pair & kept) | (value & ~kept);
        }
    }
    template <class Block>
    __device__ __forceinline__ static void take(const Block &x, int v, unsigned &least, unsigned &largest) {
#pragma unroll
        for (int i = 0; i < words; ++i) {
            largest = v + i == 0 ? x.pairs[0] : larger_pair(largest, x.pairs[v * words + i], Half());
            least = v + i == 0 ? x.pairs[0] : smaller_pair(least, x.pairs[v * words + i], Half());
        }
    }
    template <class Block>
    __device__ __forceinline__ static void settle(const Block &x, bool scaled, unsigned least, unsigned largest,
                                                  float &lowest, float &highest) {
        highest = larger_with_nan(Block::half_of(largest, 0), Block::half_of(largest, 1));
        lowest = fminf(Block::half_of(least, 0), Block::half_of(least, 1));
        if (scaled) {
            const float one = highest * x.scale, other = lowest * x.scale;
            highest = larger_with_nan(one, other);
            lowest = fminf(one, other);
        }
    }
};
template <class T>
using PartsOf = std::conditional_t<sizeof(T) == 2, PackedParts<T>, WideParts>;

// Vector v's exponentials and their tree; 0 behind the end of `count` elements.
template <class T, bool Normal, class Sum, class Exponential>
__device__ __forceinline__ Sum vector_of_exponentials(int v, int count, float (&e)[lane_elements],
                                                      Exponential exponential) {
    constexpr int elements = vector_elements<T>;
#pragma unroll
    for (int i = v * elements; i < (v + 1) * elements; ++i) {
        e[i] = exponential(i);
    }
    if ((v + 1) * warp_lanes * elements <= count) {
        return run_sum<elements, Sum, Normal>(e + v * elements);
    }
    const int left = count - (v * warp_lanes + lane_index()) * elements;
#pragma unroll
    for (int i = 0; i < elements; ++i) {
        e[v * elements + i] = i < left ? e[v * elements + i] : 0.0f;
    }
    return run_sum<elements, Sum>(e + v * elements);
}

// The natural tree over the exponentials of `count` elements. Vectors behind them are not looked at.
template <class T, class Places, bool Normal, class Sum, class Exponential>
__device__ __forceinline__ Sum sum_of_leading_exponentials(int count, float (&e)[lane_elements],
                                                           Exponential exponential) {
    constexpr int half = lane_vectors<T> / 2, distance = warp_lanes * vector_elements<T>;
    Sum sums[half];
#pragma unroll
    for (int v = 0; v < half; ++v) {
        Sum low = Sum(0), high = Sum(0);
        if (v * distance < count) {
            low = vector_of_exponentials<T, Normal, Sum>(v, count, e, exponential);
        }
        if (v + half < held_vectors<T, Places> && (v + half) * distance < count) {
            high = vector_of_exponentials<T, Normal, Sum>(v + half, count, e, exponential);
        }
        sums[v] = exchange_pair<FloatSum<Sum>, 0>(low, high);
    }
    return warp_tree<FloatSum<Sum>, 1>(sums);
}

// The exponentials of a block of `count` elements, one at least, and its state at `state`; `e` comes as zeros. Where n
// is unusual_n there are none. Places: how the logits are read again where the maximum is unusual. What x holds behind
// the elements does not matter and does not stay. Plain: no use for the block's maximum. The sum, in every lane.
template <class T, class Places, class Sum, class Data, class Block>
__device__ __forceinline__ Sum leading_block_state(const SoftmaxArguments &a, const Data &data, int count, Block &x,
                                                   float (&e)[lane_elements], BlockState<float, Sum> *state,
                                                   bool plain) {
    using C = ExponentialConstants<float>;
    using Parts = PartsOf<T>;
    constexpr int distance = warp_lanes * vector_elements<T>;
    typename Parts::Extreme least, largest;
    const typename Parts::Filling value = Parts::first(x);
#pragma unroll
    for (int v = 0; v < held_vectors<T, Places>; ++v) {
        if (v == 0 || v * distance < count) {
            if ((v + 1) * distance > count) {
                Parts::fill(x, v, count - v * distance - lane_index() * vector_elements<T>, value);
            }
            Parts::take(x, v, least, largest);
        }
    }
    float lowest, maximum;
    Parts::settle(x, a.scaled, least, largest, lowest, maximum);
    const bool small = maximum < unframed_reach<T> && lowest > -unframed_reach<T>;
    const bool unframed = __all_sync(whole_warp, plain && !(sizeof(T) == 2 && a.scaled) && small) != 0;
    maximum = unframed ? 0.0f : warp_maximum(maximum);
    const bool absent = maximum == -std::numeric_limits<float>::infinity();
    const bool unusual = is_unusual(maximum);
    const std::int32_t nearest = nearest_exponent(maximum);
    if (lane_index() == 0) {
        state->maximum = maximum;
        state->n = unusual || absent ? state_n(maximum) : nearest;
    }
    Sum sum;
    if (unusual) {
        sum = unusual_block_sum<T, Places, float, Sum>(a, address_in(data), count, maximum);
    } else {
        const float bound = absent ? std::numeric_limits<float>::infinity() : maximum - C::reach;
        const float magic_less_n = C::magic - static_cast<float>(nearest);
        if (!(sizeof(T) == 2 && a.scaled) && __all_sync(whole_warp, lowest > bound) != 0) {
            sum = sum_of_leading_exponentials<T, Places, true, Sum>(
                count, e, [&](int i) { return scaled_exponential(x.plain_value(i), magic_less_n); });
        } else {
            sum = sum_of_leading_exponentials<T, Places, false, Sum>(count, e, [&](int i) {
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

// block_state, but of a block that is not whole, where Leads, like the above. Of no elements, as warps behind the last
// row have them, every logit is -infinity.
template <class T, class Places, class Sum, Unframed Which, bool Leads, class Data, class Block, class Float>
__device__ __forceinline__ Sum row_block_state(const SoftmaxArguments &a, const Data &data, int count, Block &x,
                                               Float (&e)[lane_elements], BlockState<Float, Sum> *state,
                                               std::int32_t &frame) {
    if constexpr (Leads) {
        const int leading = same_in_warp(count);
        if (has_three_quarters<Places> || leading != static_cast<int>(softmax_block)) {
            zero(e);
            const Sum sum = leading_block_state<T, Places, Sum>(a, data, leading, x, e, state, !wants_row_values(a));
            __syncwarp();
            frame = state->n;
            return sum;
        }
    }
    return block_state<T, Places, Float, Sum, Which>(a, data, count, x, e, state, frame);
}

} // namespace wr::cuda
