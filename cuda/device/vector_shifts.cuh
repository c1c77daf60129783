// A warp's vectors, number 32 v + l being lane l's vector v, moved by less than a vector: what a lane wants of the
// vectors around comes from its neighbours by shuffles.
#pragma once

#include "cuda/device/intrinsics.cuh"

namespace wr::cuda {

// The vectors that start `Words` words into these, and Half elements of 16 bits more, each followed by the first of the
// next lane's; the last lane's by the first lane's next one.
template <int Words, bool Halves, int Vectors>
__device__ __forceinline__ void shift_down(uint4 (&vectors)[Vectors], const uint4 &behind, unsigned half_bits) {
    constexpr int borrowed = Words + (Halves ? 1 : 0);
    const bool first_lane = lane_index() == 0;
    const int next_lane = (lane_index() + 1) & (warp_lanes - 1);
#pragma unroll
    for (int v = 0; v < Vectors; ++v) {
        uint4 next = behind;
        if (v + 1 < Vectors) {
            next = vectors[v + 1 < Vectors ? v + 1 : 0];
        }
        unsigned words[4 + borrowed + 1];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            words[i] = word_of(vectors[v], i);
        }
#pragma unroll
        for (int i = 0; i < borrowed; ++i) {
            const unsigned sent = first_lane ? word_of(next, i) : word_of(vectors[v], i);
            words[4 + i] = __shfl_sync(whole_warp, sent, next_lane);
        }
        unsigned unaligned[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            unaligned[i] =
                Halves ? __funnelshift_r(words[Words + i], words[Words + i + 1], half_bits) : words[Words + i];
        }
        vectors[v] = {unaligned[0], unaligned[1], unaligned[2], unaligned[3]};
    }
}

// The other way: `Words` words and Half elements of 16 bits later, led by the last of the lane before; the first lane's
// first one by the last of all.
template <int Words, bool Halves, int Vectors>
__device__ __forceinline__ void shift_up(uint4 (&vectors)[Vectors], unsigned half_bits) {
    constexpr int borrowed = Words + (Halves ? 1 : 0);
    const bool last_lane = lane_index() == warp_lanes - 1;
    const int lane_before = (lane_index() - 1) & (warp_lanes - 1);
    const uint4 last = vectors[Vectors - 1];
#pragma unroll
    for (int v = Vectors - 1; v >= 0; --v) {
        const uint4 before = v > 0 ? vectors[v > 0 ? v - 1 : 0] : last;
        unsigned words[4 + borrowed + 1];
#pragma unroll
        for (int i = 0; i < borrowed; ++i) {
            const int from = 4 - borrowed + i;
            const unsigned sent = last_lane ? word_of(before, from) : word_of(vectors[v], from);
            words[i] = __shfl_sync(whole_warp, sent, lane_before);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            words[borrowed + i] = word_of(vectors[v], i);
        }
        unsigned unaligned[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            unaligned[i] = Halves ? __funnelshift_rc(words[i], words[i + 1], 32 - half_bits) : words[i];
        }
        vectors[v] = {unaligned[0], unaligned[1], unaligned[2], unaligned[3]};
    }
}

// Calls act.template operator()<Words, Halves>(half_bits) for a shift by so many elements of T, above 0.
template <class T, class Act>
__device__ __forceinline__ void with_shift(int elements, Act act) {
    constexpr bool halves = sizeof(T) == 2;
    const int words = halves ? elements / 2 : elements;
    const unsigned half_bits = halves ? static_cast<unsigned>(elements % 2) * 16u : 0u;
    if (words == 0) {
        act.template operator()<0, halves>(half_bits);
    } else if (words == 1) {
        act.template operator()<1, halves>(half_bits);
    } else if (words == 2) {
        act.template operator()<2, halves>(half_bits);
    } else {
        act.template operator()<3, halves>(half_bits);
    }
}

} // namespace wr::cuda
