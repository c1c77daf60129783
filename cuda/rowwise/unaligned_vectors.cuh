// A tile of neighbouring elements at any address, by 16-byte vectors on their boundaries: what a lane wants of
// the vectors around comes from its neighbours by shuffles, so that neither way needs shared memory.
#pragma once

#include "cuda/rowwise/rotated_vectors.cuh"
#include "cuda/softmax/sub_warp/vectors.cuh"

namespace wr::cuda {

// Elements of a vector that lie before the one at this address.
template <class T>
__device__ __forceinline__ int elements_of_vector_before(const T *at) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % vector_bytes / sizeof(T));
}

// A vector of which only the bytes within the readable range are read.
template <class T>
__device__ __noinline__ uint4 load_within_range(const T *at, ReadableRange readable_range) {
    unsigned words[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < vector_elements<T>; ++i) {
        const char *element = reinterpret_cast<const char *>(at + i);
        if (element >= readable_range.begin && element < readable_range.end) {
            if constexpr (sizeof(T) == 2) {
                words[i / 2] |= static_cast<unsigned>(at[i].bits) << (i % 2 * 16);
            } else {
                words[i] = __float_as_uint(at[i]);
            }
        }
    }
    return {words[0], words[1], words[2], words[3]};
}

// The vectors that hold a tile, as they lie in memory: those of a lane, and in the last one what reaches beyond them.
template <class T>
struct VectorsAround {
    uint4 own[lane_vectors<T>], behind{0, 0, 0, 0};
    int before; // elements of the first that are none of the tile's

    // Asks for the first `count` elements from `data` on. What stands behind them is anything at all.
    __device__ __forceinline__ VectorsAround(const T *data, int count, ReadableRange readable_range)
        : before(elements_of_vector_before(data)) {
        constexpr int elements = vector_elements<T>;
        const T *first = data - before;
        const int there = divide_up(before + count, elements);
        const T *mine = first + lane_index() * elements;
        const bool masked_low = reinterpret_cast<const char *>(first) < readable_range.begin;
        const bool masked_high = reinterpret_cast<const char *>(first + there * elements) > readable_range.end;
        const int left = there - lane_index() - (masked_high ? 1 : 0);
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            own[v] = uint4{0, 0, 0, 0};
            if (v * warp_lanes < left && (v > 0 || !masked_low || lane_index() > 0)) {
                own[v] = load_vector(mine + v * warp_lanes * elements);
            }
        }
        if (lane_vectors<T> * warp_lanes < left) {
            behind = load_vector(mine + static_cast<int>(softmax_block));
        }
        if (masked_low && lane_index() == 0) {
            own[0] = load_within_range(first, readable_range);
        }
        if (masked_high && lane_index() == (there - 1) % warp_lanes) {
            const uint4 highest = load_within_range(first + (there - 1) * elements, readable_range);
#pragma unroll
            for (int v = 0; v < lane_vectors<T>; ++v) {
                own[v] = v == (there - 1) / warp_lanes ? highest : own[v];
            }
            behind = lane_vectors<T> == (there - 1) / warp_lanes ? highest : behind;
        }
    }

    // The tile's own in the place of those: vector v of lane l is their number 32 v + l.
    __device__ __forceinline__ void realign() {
        if (before != 0) {
            with_shift<T>(before, [&]<int Words, bool Halves>(unsigned half_bits) {
                shift_down<Words, Halves>(own, behind, half_bits);
            });
        }
    }
};

// The tile's first `count` elements from `data` on.
template <class T>
__device__ __forceinline__ void load_realigned(const T *data, int count, ReadableRange readable_range,
                                               uint4 (&vectors)[lane_vectors<T>]) {
    VectorsAround<T> around(data, count, readable_range);
    around.realign();
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        vectors[v] = around.own[v];
    }
}

// Writes the first `count` of a tile's elements, laid out likewise, which are used up.
template <class T>
__device__ __forceinline__ void store_realigned(T *output, int count, uint4 (&vectors)[lane_vectors<T>]) {
    constexpr int elements = vector_elements<T>;
    const int before = elements_of_vector_before(output);
    if (before != 0) {
        if (lane_index() == warp_lanes - 1) { // what the tile's last vector reaches into
            const int last = static_cast<int>(softmax_block) - elements;
            store_part_of_vector(output + last, vectors[lane_vectors<T> - 1], elements - before, count - last);
        }
        with_shift<T>(before,
                      [&]<int Words, bool Halves>(unsigned half_bits) { shift_up<Words, Halves>(vectors, half_bits); });
    }
    const int end = before + count, whole = end / elements, split = end % elements == 0 ? -1 : whole / warp_lanes;
    T *mine = output - before + lane_index() * elements;
    const int begin = before - lane_index() * elements; // above 0 in the first lane alone
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        const int number = v * warp_lanes + lane_index();
        if (number < whole && (v > 0 || begin <= 0)) {
            store_vector(mine + v * warp_lanes * elements, vectors[v]);
        }
        if (v == split || (v == 0 && before != 0)) {
            const int from = v == 0 ? begin : 0;
            if (number <= whole && (number == whole || from > 0)) {
                store_part_of_vector(mine + v * warp_lanes * elements, vectors[v], from, end - number * elements);
            }
        }
    }
}

} // namespace wr::cuda
