// Which of a lane's elements of a tile take part in the gradient of softmax.
#pragma once

#include "cuda/rowwise/select.cuh"
#include "cuda/softmax_backward/load.cuh"

namespace wr::cuda {

struct AllElements {
    __device__ __forceinline__ void take_again() const {}
    __device__ __forceinline__ void keep(int, float *) const {}
    template <class Access>
    __device__ __forceinline__ Access only(int, const Access &access, unsigned) const {
        return access;
    }
};

// What a mask and limits leave: a byte for each element of an access, of which bit 7 - v is access v's.
template <class Part>
struct KeptElements {
    static constexpr int run = Part::run, word_bytes = 4, words = run / word_bytes;
    static_assert(Part::accesses <= 8);
    using Bytes = std::conditional_t<words == 2, uint2, unsigned>;
    unsigned bits[words] = {};

    // Of the first `count` elements; `mask` is theirs, on a boundary of such bytes, or NULL.
    __device__ __forceinline__ KeptElements(const std::uint8_t *mask, int count) {
        const Bytes *mine = reinterpret_cast<const Bytes *>(mask) + lane_index();
#pragma unroll
        for (int v = 0; v < Part::accesses; ++v) {
            const int left = count - (v * warp_lanes + lane_index()) * run;
            unsigned bytes[words];
            memset(bytes, 0xFF, sizeof(bytes));
            if (mask != nullptr && left > 0) {
                const Bytes loaded = mine[v * warp_lanes];
                memcpy(bytes, &loaded, sizeof(bytes));
            }
#pragma unroll
            for (int w = 0; w < words; ++w) {
                const unsigned behind = bits_from(larger(8 * (left - w * word_bytes), 0));
                bits[w] |= (taken_bytes(bytes[w]) & ~behind & 0x80808080u) >> v;
            }
        }
    }

    // Else the compiler keeps what it has made of the bits until they are wanted again.
    __device__ __forceinline__ void take_again() {
#pragma unroll
        for (unsigned &word : bits) {
            asm volatile("" : "+r"(word));
        }
    }

    // The weights of what takes no part become -0.
    __device__ __forceinline__ void keep(int v, float *weights) const {
#pragma unroll
        for (int i = 0; i < run; ++i) {
            const bool takes_part = (bits[i / word_bytes] << v >> (8 * (i % word_bytes) + 7) & 1u) != 0;
            weights[i] = takes_part ? weights[i] : -0.0f;
        }
    }
    // Of an access's elements, `filler` in the place of the others.
    __device__ __forceinline__ uint4 only(int v, const uint4 &access, unsigned filler) const {
        if constexpr (words == 2) {
            return only_taken(access, uint2{bits[0] << v, bits[1] << v}, filler);
        } else {
            return only_taken(access, bits[0] << v, filler);
        }
    }
};

} // namespace wr::cuda
