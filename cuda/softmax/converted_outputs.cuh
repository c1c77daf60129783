// The outputs of a tile whose logits were read by vectors, as elements of another type than the input's: f32,
// f16, bf16, or f8 where no output is a logarithm.
#pragma once

#include "cuda/rowwise/pack.cuh"

namespace wr::cuda {

// Calls act(To()) for an output type that is not that of the input, which kernels of T read.
template <class T, class Act>
__device__ __forceinline__ void with_other_type(ElementType output_type, Act act) {
    if (!std::is_same_v<T, float> && output_type == ElementType::f32) {
        act(float());
    } else if (!std::is_same_v<T, BF16> && output_type == ElementType::bf16) {
        act(BF16());
    } else if (output_type == ElementType::f16) { // of F16: the input has 8 bits
        act(F16());
    } else if (output_type == ElementType::f8_e4m3) {
        act(E4M3());
    } else {
        act(E5M2());
    }
}

__device__ __forceinline__ void store_words(void *to, const unsigned (&w)[1]) {
    asm volatile("st.global.b32 [%0], %1;" ::"l"(to), "r"(w[0]) : "memory");
}
__device__ __forceinline__ void store_words(void *to, const unsigned (&w)[2]) { store_half_vector(to, {w[0], w[1]}); }
template <int Words>
__device__ __forceinline__ void store_words(void *to, const unsigned (&w)[Words]) {
#pragma unroll
    for (int i = 0; i < Words; i += 4) {
        store_vector(static_cast<unsigned *>(to) + i, {w[i], w[i + 1], w[i + 2], w[i + 3]});
    }
}

// A lane's outputs, `left` vectors of the input of which exist from its first place on.
template <class T, class To>
__device__ __forceinline__ void store_lane_as(To *own, int left, const float *y) {
    constexpr int each = vector_elements<T>;
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        if (v * warp_lanes < left) {
            store_words(own + v * warp_lanes * each, RunWords<To, each>(y + v * each).of);
        }
    }
}

// The first `count` outputs of a tile, from element `first` of the output on.
template <class T>
__device__ __forceinline__ void store_converted_tile(const SoftmaxArguments &a, std::size_t first, int count,
                                                     const float (&y)[lane_elements]) {
    constexpr int each = vector_elements<T>;
    const std::size_t place = first + static_cast<std::size_t>(lane_index() * each);
    const int left = count / each - lane_index();
    with_other_type<T>(a.output_type,
                       [&]<class To>(To) { store_lane_as<T>(static_cast<To *>(a.output) + place, left, y); });
}

// Load one run of a lane's outputs in shared memory.
template <int Words>
__device__ __forceinline__ void stage_words(void *to, const unsigned (&w)[Words]) {
    if constexpr (Words == 1) {
        *static_cast<unsigned *>(to) = w[0];
    } else if constexpr (Words == 2) {
        *static_cast<uint2 *>(to) = {w[0], w[1]};
    } else {
#pragma unroll
        for (int i = 0; i < Words; i += 4) {
            static_cast<uint4 *>(to)[i / 4] = {w[i], w[i + 1], w[i + 2], w[i + 3]};
        }
    }
}

// Writes what lies in a warp's stage, elements of Storage's size, to any address. Behind a call, which nothing but an
// address and a count waits for.
template <class Storage, int Elements>
__device__ __noinline__ void copy_stage(void *output, int count, const uint4 *stage) {
    copy_from_stage<Storage, Elements>(static_cast<Storage *>(output), count, stage, 0);
}

// The first `count` outputs of a tile whose logits lay at any address, to any address, by way of the stage that the
// kernels of unaligned loads have: in as many parts as make it hold them.
template <class T>
__device__ __forceinline__ void store_unaligned_converted(const SoftmaxArguments &a, std::size_t first, int count,
                                                          const float (&y)[lane_elements]) {
    uint4 *stage = own_stage<T>();
    with_other_type<T>(a.output_type, [&]<class To>(To) {
        using Storage = std::conditional_t<sizeof(To) == 4, float, std::conditional_t<sizeof(To) == 2, F16, E4M3>>;
        constexpr int each = vector_elements<T>;
        constexpr int parts = sizeof(To) > sizeof(T) ? static_cast<int>(sizeof(To) / sizeof(T)) : 1;
        constexpr int part_vectors = lane_vectors<T> / parts, elements = part_vectors * warp_lanes * each;
        static_assert(stage_bytes<To, elements> <= stage_bytes<T, staged_elements<T>>);
#pragma unroll
        for (int part = 0; part < parts; ++part) {
            __syncwarp();
#pragma unroll
            for (int v = 0; v < part_vectors; ++v) {
                stage_words(reinterpret_cast<To *>(stage) + (v * warp_lanes + lane_index()) * each,
                            RunWords<To, each>(y + (part * part_vectors + v) * each).of);
            }
            __syncwarp();
            copy_stage<Storage, elements>(static_cast<To *>(a.output) + first + part * elements,
                                          smaller(larger(count - part * elements, 0), elements), stage);
        }
    });
}

} // namespace wr::cuda
