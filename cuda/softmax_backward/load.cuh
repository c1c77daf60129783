// A lane's part of a tile of outputs, logits or gradients in the gradient of softmax, as it was loaded.
#pragma once

#include "cuda/rowwise/select.cuh"
#include "cuda/rowwise/unaligned_vectors.cuh"
#include "cuda/softmax_backward/rows.h"

namespace wr::cuda {

// How a lane holds its part: by so many accesses to memory, each of some neighbours, number 32 v + l of the tile being
// access v of lane l.
template <class Element, int Accesses, int Neighbours>
struct LanePart {
    using T = Element;
    using Access = std::conditional_t<Neighbours == 1, T, uint4>;
    static constexpr int accesses = Accesses, run = Neighbours, elements = Accesses * Neighbours;
    static constexpr int tile = warp_lanes * elements;
};
template <class T>
using WholeTile = LanePart<T, lane_vectors<T>, vector_elements<T>>;
template <class T>
using HalfTile = LanePart<T, lane_vectors<T> / 2, vector_elements<T>>;
template <class T>
using QuarterTile = LanePart<T, lane_vectors<T> / 4, vector_elements<T>>;
// Of rows anywhere, element by element: those that a warp or more has, and those that share one.
template <class T>
using ElementTile = LanePart<T, static_cast<int>(backward_element_tile) / warp_lanes, 1>;
template <class T>
using SubWarpElements = LanePart<T, 8, 1>;

// Whether the weights of a lane's logits wait in shared memory.
template <class Part>
inline constexpr bool buffers_weights = sizeof(typename Part::T) == 2 && Part::tile == static_cast<int>(softmax_block);

__device__ __forceinline__ void fill_access(uint4 &access, unsigned pattern) {
    access = {pattern, pattern, pattern, pattern};
}
template <class T>
__device__ __forceinline__ void fill_access(T &access, unsigned pattern) {
    memcpy(&access, &pattern, sizeof(T));
}

// What an access brought, each element as it lies in memory.
template <class Part>
struct BackwardElements {
    using T = typename Part::T;
    using Access = typename Part::Access;
    Access of[Part::accesses];

    // The accesses that hold the first `count` elements; in the place of the others `behind` over and over.
    __device__ __forceinline__ void load(const T *data, int count, unsigned behind) {
        const Access *mine = reinterpret_cast<const Access *>(data) + lane_index();
        const int left = divide_up(count, Part::run) - lane_index();
#pragma unroll
        for (int v = 0; v < Part::accesses; ++v) {
            fill_access(of[v], behind);
            if (v * warp_lanes < left) {
                of[v] = mine[v * warp_lanes];
            }
        }
    }

    // What takes no part becomes `filler`, over and over.
    template <class Kept>
    __device__ __forceinline__ void keep(const Kept &kept, unsigned filler) {
#pragma unroll
        for (int v = 0; v < Part::accesses; ++v) {
            of[v] = kept.only(v, of[v], filler);
        }
    }

    // Elements anywhere, which have been asked for.
    __device__ __forceinline__ void realign(VectorsAround<T> &around, int count, unsigned behind) {
        around.realign();
#pragma unroll
        for (int v = 0; v < Part::accesses; ++v) {
            of[v] = around.own[v];
        }
        if (count < Part::tile) {
#pragma unroll
            for (int v = 0; v < Part::accesses; ++v) {
                const int left = count - (v * warp_lanes + lane_index()) * Part::run;
                T kept[Part::run];
                memcpy(kept, of + v, sizeof(Access));
#pragma unroll
                for (int i = 0; i < Part::run; ++i) {
                    if (i >= left) {
                        memcpy(kept + i, &behind, sizeof(T));
                    }
                }
                memcpy(of + v, kept, sizeof(Access));
            }
        }
    }

    __device__ __forceinline__ float operator[](int i) const {
        if constexpr (Part::run == 1) {
            return widen(of[i]);
        } else {
            return element_of(of[i / Part::run], i % Part::run, T());
        }
    }

    // The elements of access v.
    struct Run {
        const BackwardElements &all;
        int first;

        __device__ __forceinline__ float operator[](int i) const { return all[first + i]; }
    };
    __device__ __forceinline__ Run of_access(int v) const { return {*this, v * Part::run}; }
};

// What stands behind the end of a row, over and over: of outputs or logits, and of their gradients. Terms are -0 there:
// -0 times 0, or gradients of -0.
template <class T>
inline constexpr unsigned minus_zeros = sizeof(T) == 4 ? 0x80000000u : 0x80008000u;
template <class T>
__device__ __forceinline__ unsigned gradients_behind(const BackwardVectorArguments &a) {
    return a.log ? minus_zeros<T> : 0u;
}

// Which of a lane's elements of a tile take part in the gradient of softmax.

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
