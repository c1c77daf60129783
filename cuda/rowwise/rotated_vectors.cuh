// A warp's vectors, number 32 v + l being lane l's vector v, moved by less than a vector: what a lane wants of the
// vectors around comes from its neighbours by shuffles.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/rowwise/vector_access.cuh"

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

// A tile of 16-bit elements off the boundaries as the vectors of memory hold it, so that neither its logits nor
// its outputs have to be shifted: element j stands at place (j + skew) mod 1024, `skew` being the elements of its first
// vector that lie before it. These places are taken by the tile's last elements, which have them in a vector of their
// own behind it. Only the tree over the tile has to know, for neighbours may lie in two lanes.

inline constexpr int rotated_run = 8; // neighbours in a vector
inline constexpr int rotated_vectors = lane_elements / rotated_run;

// The first of a lane's vectors: in the tile's first one lane 0 has the elements below `skew` of the one behind it.
// Without a branch, beside which the others would wait for it.
__device__ __forceinline__ uint4 turned(const uint4 &first, const uint4 &behind, int skew) {
    constexpr int half_bits = 16, word_bits = 32;
    const int bits = lane_index() == 0 ? skew * half_bits : 0;
    const auto word = [&](unsigned own, unsigned other, int number) {
        const auto taken = static_cast<unsigned>(larger(bits - number * word_bits, 0));
        const unsigned mask = __funnelshift_lc(~0u, 0u, taken); // so many ones, from the lowest bit on
        return (own & ~mask) | (other & mask);
    };
    return {word(first.x, behind.x, 0), word(first.y, behind.y, 1), word(first.z, behind.z, 2),
            word(first.w, behind.w, 3)};
}

// The elements of a vector from number `left` on become the filler.
template <class T>
__device__ __forceinline__ uint4 with_filler(const uint4 &vector, int left, bool negative_scale) {
    const unsigned one = filler<T>(negative_scale).bits, both = one << 16 | one;
    const auto word = [&](unsigned own, int number) {
        const unsigned kept = left > 2 * number + 1 ? ~0u : left > 2 * number ? 0xFFFFu : 0u;
        return (own & kept) | (both & ~kept);
    };
    return {word(vector.x, 0), word(vector.y, 1), word(vector.z, 2), word(vector.w, 3)};
}

// A block in shared memory from `data` on, where there is room for a vector more than it has; its skew.
template <class T>
__device__ __forceinline__ int load_rotated_tile(const T *data, int count, bool negative_scale,
                                                 uint4 (&vectors)[rotated_vectors]) {
    constexpr int all_vectors = rotated_vectors * warp_lanes;
    const int skew = elements_before(data);
    const uint4 *const base = reinterpret_cast<const uint4 *>(data - skew);
#pragma unroll
    for (int v = 0; v < rotated_vectors; ++v) {
        vectors[v] = load_vector(base + v * warp_lanes + lane_index());
    }
    uint4 behind = load_vector(base + all_vectors);
    if (count != static_cast<int>(softmax_block)) {
        const auto left = [&](int number) { return skew + count - number * rotated_run; };
#pragma unroll
        for (int v = 0; v < rotated_vectors; ++v) {
            vectors[v] = with_filler<T>(vectors[v], left(v * warp_lanes + lane_index()), negative_scale);
        }
        behind = with_filler<T>(behind, left(all_vectors), negative_scale);
    }
    vectors[0] = turned(vectors[0], behind, skew);
    return skew;
}

// The ends of a rotated tile, which go to memory by single elements, for they share vectors with its neighbours: a
// lane has an element of the vector at either end.
struct RotatedEnd {
    int place;   // from the beginning of the first vector on
    bool exists; // and is not in a vector that the tile fills

    __device__ __forceinline__ RotatedEnd(int skew, int count) {
        const int end = skew + count;
        const bool is_tail = (lane_index() & rotated_run) != 0;
        place = (lane_index() & (rotated_run - 1)) + (is_tail ? end & ~(rotated_run - 1) : 0);
        const bool is_filled = !is_tail && skew == 0 && count >= rotated_run;
        exists = lane_index() < 2 * rotated_run && place >= skew && place < end && !is_filled;
    }
};

// Whether a rotated tile fills its vector of this number.
__device__ __forceinline__ bool fills_vector(int skew, int count, int number) {
    return (number > 0 || skew == 0) && (number + 1) * rotated_run <= skew + count;
}

// Writes a tile that stands in its order, at any address: the lanes rotate it as memory's vectors there want it, and
// it needs a stage for its ends alone. `vectors` are used up.
template <class T>
__device__ __forceinline__ void store_rotating(T *output, int count, uint4 (&vectors)[rotated_vectors]) {
    const int skew = same_in_warp(elements_before(output));
    if (skew != 0) {
        with_shift<T>(skew,
                      [&]<int Words, bool Halves>(unsigned half_bits) { shift_up<Words, Halves>(vectors, half_bits); });
    }
    const RotatedEnd own(skew, count);
    const int left = static_cast<int>(static_cast<unsigned>(skew + count) / unsigned{rotated_run}) - lane_index();
    uint4 *const to = reinterpret_cast<uint4 *>(output - skew) + lane_index();
    uint4 *const ends = own_stage<T>();
    __syncwarp();
    if (lane_index() == 0) {
        ends[0] = vectors[0];
    }
#pragma unroll
    for (int v = 0; v < rotated_vectors; ++v) {
        const bool is_first = v == 0 && lane_index() == 0 && skew != 0;
        store_vector_if(v * warp_lanes < left && !is_first, to + v * warp_lanes, vectors[v]);
        store_staged_if(v * warp_lanes == left, ends + 1, vectors[v]);
    }
    store_staged_if(rotated_vectors * warp_lanes == left, ends + 1, vectors[0]);
    __syncwarp();
    if (own.exists) {
        output[own.place - skew] = reinterpret_cast<const T *>(ends)[lane_index()];
    }
}

// The next level of the natural tree over neighbours of which each of the lane's vectors has Width, as many pairs. Odd:
// the first one's partner lies before it, so that the last one's comes from the next lane; the last lane's from the
// first one's vector behind.
template <int Width>
__device__ __forceinline__ void add_neighbours(bool odd, const float (&from)[rotated_vectors * Width],
                                               float (&pairs)[rotated_vectors * Width / 2]) {
    if (odd) {
#pragma unroll
        for (int v = 0; v < rotated_vectors; ++v) {
            const float sent = lane_index() == 0 ? from[(v + 1) % rotated_vectors * Width] : from[v * Width];
            const float behind = __shfl_sync(whole_warp, sent, (lane_index() + 1) % warp_lanes);
#pragma unroll
            for (int i = 0; i < Width; i += 2) {
                const float second = i + 2 < Width ? from[v * Width + (i + 2) % Width] : behind;
                pairs[(v * Width + i) / 2] = from[v * Width + i + 1] + second;
            }
        }
    } else {
#pragma unroll
        for (int i = 0; i < rotated_vectors * Width; i += 2) {
            pairs[i / 2] = from[i] + from[i + 1];
        }
    }
}

// The tree over each eight of the tile that begins in one of the lane's vectors. The skew is the same in all lanes.
__device__ __forceinline__ void add_eights(int skew, const float (&e)[lane_elements], float (&sums)[rotated_vectors]) {
    float pairs[lane_elements / 2], quads[lane_elements / 4];
    add_neighbours<rotated_run>((skew & 1) != 0, e, pairs);
    add_neighbours<rotated_run / 2>((skew & 2) != 0, pairs, quads);
    add_neighbours<rotated_run / 4>((skew & 4) != 0, quads, sums);
}

} // namespace wr::cuda
