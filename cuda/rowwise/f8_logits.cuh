// Logits of 8 bits. F16 holds every value of either format exactly, and 8-bit and 16-bit elements have one arithmetic:
// kernels of F16 read them where a call says so.
#pragma once

#include "cuda/rowwise/pack.cuh"

namespace wr::cuda {

template <class T>
inline constexpr bool may_read_f8 = std::is_same_v<T, F16>;

// Two neighbours, the lower half of `pair`, as F16.
__device__ __forceinline__ unsigned halves_of_e4m3(unsigned pair) {
#if __CUDA_ARCH__ >= 890
    unsigned halves;
    asm("{\n"
        ".reg .b16 low, high;\n"
        "mov.b32 {low, high}, %1;\n"
        "cvt.rn.f16x2.e4m3x2 %0, low;\n"
        "}"
        : "=r"(halves)
        : "r"(pair));
    return halves;
#else
    return narrow_pair(widen(E4M3{static_cast<std::uint8_t>(pair)}), widen(E4M3{static_cast<std::uint8_t>(pair >> 8)}),
                       F16());
#endif
}

// Eight neighbours as a vector of F16. E5M2 is the upper half of F16.
__device__ __forceinline__ uint4 halves_of_f8(uint2 bytes, ElementType type) {
    if (type == ElementType::f8_e5m2) {
        return {__byte_perm(bytes.x, 0, 0x1404), __byte_perm(bytes.x, 0, 0x3424), __byte_perm(bytes.y, 0, 0x1404),
                __byte_perm(bytes.y, 0, 0x3424)};
    }
    return {halves_of_e4m3(bytes.x), halves_of_e4m3(bytes.x >> 16), halves_of_e4m3(bytes.y),
            halves_of_e4m3(bytes.y >> 16)};
}

// The first `count` elements of a tile, eight bytes of which lie on boundaries of eight; `behind` takes the place of
// the vectors that the lane lacks. `data` is where the tile would be if its elements were F16.
__device__ __forceinline__ void load_f8_tile(const SoftmaxArguments &a, const F16 *data, int count, uint4 behind,
                                             uint4 (&vectors)[lane_vectors<F16>]) {
    const std::ptrdiff_t first = data - static_cast<const F16 *>(a.input);
    const uint2 *mine = reinterpret_cast<const uint2 *>(static_cast<const std::uint8_t *>(a.input) + first);
    const int left = count - lane_index() * vector_elements<F16>;
    uint2 bytes[lane_vectors<F16>];
#pragma unroll
    for (int v = 0; v < lane_vectors<F16>; ++v) {
        bytes[v] = uint2{0, 0};
        if (v * warp_lanes * vector_elements<F16> < left) {
            bytes[v] = mine[v * warp_lanes + lane_index()];
        }
    }
#pragma unroll
    for (int v = 0; v < lane_vectors<F16>; ++v) {
        vectors[v] = v * warp_lanes * vector_elements<F16> < left ? halves_of_f8(bytes[v], a.input_type) : behind;
    }
}

} // namespace wr::cuda
