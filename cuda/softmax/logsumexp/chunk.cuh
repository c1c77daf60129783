// How each lane takes its 32 neighbours of a row out of a warp's stage: a row of up to 32 elements is one lane's, and a
// tile all lanes'.
#pragma once

#include "cuda/softmax/logsumexp/stage.cuh"

namespace wr::cuda {

// The elements of a lane as words: vectors of its elements in an order in which lanes that read side by side meet
// different banks. Each stands in the place of the one whose number differs by the lane's turn in binary, so that only
// left and right change places in the tree over them.
template <class T>
inline constexpr int chunk_words = chunk_vectors<T> * 4;
template <class T>
__device__ __forceinline__ unsigned turn_of_lane() {
    constexpr unsigned vectors_of_banks = 8; // that a warp can read at a time without meeting
    return static_cast<unsigned>(lane_from_register()) * chunk_vectors<T> / vectors_of_banks % chunk_vectors<T>;
}

// One bit for each of a lane's elements, of which the first `count` are there, in the chunk's order.
template <class T>
__device__ __forceinline__ unsigned present_bits(int count) {
    unsigned bits = ~bits_from(larger(count, 0));
    const unsigned turn = turn_of_lane<T>();
    if constexpr (vector_elements<T> == 4) {
        constexpr unsigned low_nibbles = 0x0F0F0F0F;
        bits = (turn & 1) != 0 ? (bits & low_nibbles) << 4 | (bits >> 4 & low_nibbles) : bits;
    }
    const unsigned of_bytes = turn * vector_elements<T> / 8;
    return __byte_perm(bits, 0, 0x3210u ^ of_bytes * 0x1111u);
}

// Word number Word from an address in shared memory on.
template <int Word>
__device__ __forceinline__ unsigned shared_word(unsigned address) {
    unsigned word;
    asm volatile("ld.shared.u32 %0, [%1 + %2];" : "=r"(word) : "r"(address), "n"(4 * Word) : "memory");
    return word;
}

template <class T>
struct Chunk {
    unsigned words[chunk_words<T>];

    __device__ __forceinline__ float operator[](int i) const { return __uint_as_float(words[i]); }

    // The lower one says nothing about NaN, and is 0 where no element is below.
    __device__ __forceinline__ void extremes(float &lowest, float &highest) const {
        float least = highest = __uint_as_float(words[0]);
#pragma unroll
        for (int i = 1; i < lane_elements; ++i) {
            highest = larger_with_nan(highest, __uint_as_float(words[i]));
            least = lower_below_zero(least, __uint_as_float(words[i]));
        }
        lowest = fminf(least, 0.0f);
    }

    // -infinity where a bit is 0.
    __device__ __forceinline__ void leave(unsigned present) {
#pragma unroll
        for (int v = 0; v < chunk_vectors<T>; ++v) {
            unsigned bits = present >> v * 4;
            asm("" : "+r"(bits)); // so that a vector's tests come from one register at a time
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                words[v * 4 + i] = (bits & 1u << i) != 0 ? words[v * 4 + i] : __float_as_uint(filler<float>(false));
            }
        }
    }

    // The words of a vector that stands at `at`.
    __device__ __forceinline__ static uint4 read(unsigned at, unsigned) {
        return {shared_word<0>(at), shared_word<1>(at), shared_word<2>(at), shared_word<3>(at)};
    }
};
template <class Half>
    requires(sizeof(Half) == 2)
struct Chunk<Half> {
    unsigned words[chunk_words<Half>];

    __device__ __forceinline__ static float half_of(unsigned pair, int i) {
        return widen(Half{static_cast<std::uint16_t>(i % 2 == 0 ? pair & 0xFFFFu : pair >> 16)});
    }
    __device__ __forceinline__ float operator[](int i) const { return half_of(words[i / 2], i); }

    __device__ __forceinline__ void extremes(float &lowest, float &highest) const {
        unsigned largest = words[0], least = words[0];
#pragma unroll
        for (int i = 1; i < lane_elements / 2; ++i) {
            largest = larger_pair(largest, words[i], Half());
            least = smaller_pair(least, words[i], Half());
        }
        highest = larger_with_nan(half_of(largest, 0), half_of(largest, 1));
        lowest = fminf(half_of(least, 0), half_of(least, 1));
    }

    __device__ __forceinline__ void leave(unsigned present) {
        const unsigned one = filler<Half>(false).bits;
#pragma unroll
        for (int v = 0; v < chunk_vectors<Half>; ++v) {
            unsigned bits = present >> v * 8;
            asm("" : "+r"(bits));
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const unsigned first = (bits & 1u << 2 * i) != 0 ? words[v * 4 + i] : one << 16 | one;
                words[v * 4 + i] = (bits & 2u << 2 * i) != 0 ? first : (first & 0xFFFFu) | one << 16;
            }
        }
    }

    // Of a vector that begins `bits` behind `at`.
    __device__ __forceinline__ static uint4 read(unsigned at, unsigned bits) {
        const unsigned w[5] = {shared_word<0>(at), shared_word<1>(at), shared_word<2>(at), shared_word<3>(at),
                               shared_word<4>(at)};
        return {__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits), __funnelshift_r(w[2], w[3], bits),
                __funnelshift_r(w[3], w[4], bits)};
    }
};

// The chunk that begins at an address in shared memory. `turn`: the lane's, in bytes.
template <class T, Alignment Where>
__device__ __forceinline__ Chunk<T> read_chunk(unsigned address, unsigned turn) {
    Chunk<T> taken;
#pragma unroll
    for (int v = 0; v < chunk_vectors<T>; ++v) {
        const unsigned turned = turn ^ v * static_cast<unsigned>(vector_bytes);
        uint4 vector;
        if constexpr (Where == Alignment::vector) {
            asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(vector.x), "=r"(vector.y), "=r"(vector.z), "=r"(vector.w)
                         : "r"(address + turned)
                         : "memory");
        } else {
            vector = Chunk<T>::read((address & ~3u) + turned, address % 4 * 8);
        }
        memcpy(taken.words + 4 * v, &vector, sizeof(vector));
    }
    return taken;
}

} // namespace wr::cuda
