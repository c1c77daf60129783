// A tile that a mask cuts elements out of: its exponentials and its state.
#pragma once

#include "cuda/softmax/rows/masked_rows_tile.cuh"

namespace wr::cuda {

// Where a lane's vectors lie among its logits.
template <class Half, class Load>
__device__ __forceinline__ unsigned *words_of(VectorRowsLogits<Half, Load> &x) {
    return x.pairs;
}
template <class Load>
__device__ __forceinline__ float *words_of(Logits<float, Load> &x) {
    return x.x;
}

// Mask bytes from the low ones' number `skew` on, as many as `low` has.
__device__ __forceinline__ unsigned joined(unsigned low, unsigned high, unsigned skew) {
    return __funnelshift_r(low, high, 8 * skew);
}
__device__ __forceinline__ uint2 joined(uint2 low, uint2 high, unsigned skew) {
    constexpr unsigned word = sizeof(unsigned);
    const bool later = skew >= word;
    const unsigned first = later ? low.y : low.x, second = later ? high.x : low.y, third = later ? high.y : high.x;
    return {joined(first, second, skew % word), joined(second, third, skew % word)};
}

// The mask's bytes beside a lane's vectors of a tile, 0 behind its first `count` elements.
template <class T>
struct LaneMask {
    static constexpr int elements = vector_elements<T>, distance = warp_lanes * elements;
    using Bytes = std::conditional_t<elements == 8, uint2, unsigned>; // of a vector
    Bytes bytes[lane_vectors<T>];

    LaneMask() = default;

    // Where there is no mask.
    __device__ __forceinline__ explicit LaneMask(int count) {
        memset(bytes, 1, sizeof(bytes));
        end_after(count);
    }

    // On the boundaries of such words.
    __device__ __forceinline__ LaneMask(const std::uint8_t *mask, int count) {
        const Bytes *mine = reinterpret_cast<const Bytes *>(mask) + lane_index();
        const int left = count - lane_index() * elements;
        if (count == static_cast<int>(softmax_block)) {
#pragma unroll
            for (int v = 0; v < lane_vectors<T>; ++v) {
                bytes[v] = mine[v * warp_lanes];
            }
            return;
        }
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            bytes[v] = Bytes();
            if (v * distance < left) {
                bytes[v] = mine[v * warp_lanes];
            }
        }
        if (count % elements != 0) {
            end_after(count);
        }
    }

    // Anywhere, of an array with the bytes from `begin` to `end`: words that reach beyond these are not read.
    __device__ __forceinline__ LaneMask(const std::uint8_t *mask, int count, const std::uint8_t *begin,
                                        const std::uint8_t *end) {
        const auto skew = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(mask) % sizeof(Bytes));
        const std::uint8_t *first = mask - skew;
        const int there = static_cast<int>(skew) + count;
        if (first < begin || first + divide_up(there, elements) * elements > end) {
            *this = byte_by_byte(mask, count);
            return;
        }
        const Bytes *mine = reinterpret_cast<const Bytes *>(first) + lane_index();
        const int left = there - lane_index() * elements;
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            Bytes low = Bytes(), high = Bytes();
            if (v * distance < left) {
                low = mine[v * warp_lanes];
            }
            if (skew != 0 && v * distance + elements < left) { // the next lane reads it too, and the first-level cache
                high = mine[v * warp_lanes + 1];
            }
            bytes[v] = joined(low, high, skew);
        }
        if (count != static_cast<int>(softmax_block)) {
            end_after(count);
        }
    }

    __device__ __noinline__ static LaneMask byte_by_byte(const std::uint8_t *mask, int count) {
        LaneMask made;
#pragma unroll 1
        for (int v = 0; v < lane_vectors<T>; ++v) {
            std::uint8_t of_vector[elements];
#pragma unroll 1
            for (int i = 0; i < elements; ++i) {
                const int at = v * distance + lane_index() * elements + i;
                of_vector[i] = at < count ? mask[at] : std::uint8_t{0};
            }
            memcpy(made.bytes + v, of_vector, sizeof(of_vector));
        }
        return made;
    }

    __device__ __forceinline__ void end_after(int count) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            end_vector_after(count - lane_index() * elements - v * distance, bytes[v]);
        }
    }
    __device__ __forceinline__ static void end_vector_after(int left, unsigned &of_vector) {
        of_vector &= ~bits_from(larger(8 * left, 0));
    }
    __device__ __forceinline__ static void end_vector_after(int left, uint2 &of_vector) {
        end_vector_after(left, of_vector.x);
        end_vector_after(left - 4, of_vector.y);
    }

    // Puts the filler in the place of what is left out.
    template <class Logits>
    __device__ __forceinline__ void apply(Logits &x, unsigned filler) const {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            auto *const mine = words_of(x) + v * (vector_bytes / sizeof(unsigned));
            uint4 vector;
            memcpy(&vector, mine, sizeof(vector));
            vector = without_masked(vector, bytes[v], filler);
            memcpy(mine, &vector, sizeof(vector));
        }
    }
};

// A logit whose exponential is 0 in the place of -infinity, which has none; others stay.
template <class Load>
__device__ __forceinline__ float vanishing_value(const VectorRowsLogits<BF16, Load> &x, int i) {
    constexpr unsigned vanishing = bit_cast<std::uint32_t>(ExponentialConstants<float>::vanishing);
    static_assert(vanishing % 0x10000u == 0);
    return x.half_of(larger_pair(x.pairs[i / 2], vanishing | vanishing >> 16, BF16()), i);
}
template <class Logits>
__device__ __forceinline__ float vanishing_value(const Logits &x, int i) {
    return fmaxf(x.plain_value(i), ExponentialConstants<float>::vanishing);
}

// Written down before the exponentials are formed, so that no register holds them.
template <class Sum>
__device__ __forceinline__ void note_frame(TileState<float, Sum> *state, float maximum, std::int32_t n) {
    if (lane_index() == 0) {
        state->maximum = maximum;
        state->n = n;
    }
}

// Takes out of x what the mask leaves out, and forms the exponentials of the rest, in the frame that is noted at
// `state`; their sum, in every lane. The extremes of all that was read tell whether no exponential needs a test: then
// what is left out needs none either. Where n is special_n the exponentials are zeros.
template <class Rows, bool Log, class Data, class Logits>
__device__ __forceinline__ typename Rows::Sum
masked_tile_sum(const MaskedRowsArguments &a, const Data &data, const LaneMask<typename Rows::Element> &mask, int count,
                Logits &x, float (&e)[lane_elements], TileState<float, typename Rows::Sum> *state) {
    using T = typename Rows::Element;
    using Sum = typename Rows::Sum;
    using C = ExponentialConstants<float>;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const bool scaled_later = sizeof(T) == 2 && a.scaled; // others are already
    float lowest, maximum;
    x.extremes(false, lowest, maximum);
    mask.apply(x, filler_vector<T>(sizeof(T) == 2 && a.scale < 0).x);
    const auto vanishing_sum = [&](float magic_less_n) {
        return sum_of_exponentials<Rows, Sum>(
            x, e, [&](int i) { return scaled_exponential(vanishing_value(x, i), magic_less_n); });
    };
    if constexpr (!Log) {
        const bool plain = !scaled_later && !wants_row_values(a) && reaches_outputs<T, Rows>(a.output_type);
        const bool at_zero_exponent = plain && maximum < zero_exponent_range<T> && lowest > -zero_exponent_range<T>;
        if (__all_sync(whole_warp, at_zero_exponent) != 0) {
            const Sum sum = vanishing_sum(C::magic);
            const bool absent = sum == Sum(0);
            note_frame(state, absent ? -infinity : 0.0f, absent ? absent_n : 0);
            return sum;
        }
    }
    float least_taken;
    x.extremes(a.scaled, least_taken, maximum);
    maximum = warp_maximum(maximum);
    if (is_special(maximum)) {
        zero(e);
        note_frame(state, maximum, state_n(maximum));
        return special_tile_sum<T, Rows, float, Sum>(a, address_in(data), count, maximum);
    }
    const bool absent = maximum == -infinity;
    const std::int32_t nearest = nearest_exponent(maximum);
    const float bound = absent ? infinity : maximum - C::reach;
    const float magic_less_n = C::magic - static_cast<float>(nearest);
    note_frame(state, maximum, absent ? absent_n : nearest);
    if (__all_sync(whole_warp, !scaled_later && lowest > bound) != 0) {
        return vanishing_sum(magic_less_n);
    }
    return sum_of_exponentials<Rows, Sum>(x, e, [&](int i) {
        const float value = x[i];
        const float result = scaled_exponential(value, magic_less_n);
        return value > bound ? result : 0.0f;
    });
}

} // namespace wr::cuda
