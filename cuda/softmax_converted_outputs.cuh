// The outputs of a base block whose logits were read by vectors, as elements of another type: of f32, f16 and bf16 one
// that the input is not.
#pragma once

#include "cuda/softmax_packing.cuh"

namespace wr::cuda {

// The values of one vector of the input, which are neighbours.
template <int Values>
__device__ __forceinline__ void store_neighbours(float *to, const float *y) {
#pragma unroll
    for (int i = 0; i < Values; i += vector_elements<float>) {
        store_vector(reinterpret_cast<uint4 *>(to + i), pack(y + i, float()));
    }
}
template <int Values, class Half>
__device__ __forceinline__ void store_neighbours(Half *to, const float *y) {
    if constexpr (Values == vector_elements<Half>) {
        store_vector(reinterpret_cast<uint4 *>(to), pack(y, Half()));
    } else {
        static_assert(Values == vector_elements<Half> / 2);
        store_half_vector(to, {narrow_pair(y[0], y[1], Half()), narrow_pair(y[2], y[3], Half())});
    }
}

// A lane's outputs, `left` vectors of which exist from its first place on.
template <class T, class To>
__device__ __forceinline__ void store_lane_as(To *own, int left, const float *y) {
    constexpr int each = vector_elements<T>;
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        if (v * warp_lanes < left) {
            store_neighbours<each>(own + v * warp_lanes * each, y + v * each);
        }
    }
}

// The first `count` outputs of a block, from element `first` of the output on.
template <class T>
__device__ __forceinline__ void store_converted_block(const SoftmaxArguments &a, std::size_t first, int count,
                                                      const float (&y)[lane_elements]) {
    using Half = std::conditional_t<std::is_same_v<T, F16>, BF16, F16>;        // another than T
    using Other = std::conditional_t<sizeof(T) == sizeof(float), BF16, float>; // likewise
    constexpr int each = vector_elements<T>;
    const std::size_t place = first + static_cast<std::size_t>(lane_index() * each);
    const int left = count / each - lane_index();
    if (a.output_type == ElementTypeOf<Half>::type) {
        store_lane_as<T>(static_cast<Half *>(a.output) + place, left, y);
    } else {
        store_lane_as<T>(static_cast<Other *>(a.output) + place, left, y);
    }
}

} // namespace wr::cuda
