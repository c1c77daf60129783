// A lane's part of a tile of outputs, logits or gradients in the gradient of softmax, as it was loaded.
#pragma once

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

} // namespace wr::cuda
