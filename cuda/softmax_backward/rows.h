// What the kernels for the gradient of rows of neighbouring elements are launched with. Plain data: host and GPU share
// it.
#pragma once

#include "cuda/common/readable_range.h"

#include <cstddef>
#include <cstdint>

namespace wr::cuda {

struct BackwardVectorArguments {
    const void *saved; // softmax's outputs, or the logits where there is a logsumexp of each row
    const float *logsumexp;
    const void *output_gradient;
    void *input_gradient;
    std::size_t rows, axis;
    std::ptrdiff_t outer_stride, gradient_outer_stride;
    std::int32_t cluster_blocks;     // blocks that share a row
    std::int32_t row_lanes;          // places of a vector that a short row has in a warp
    std::uint32_t resident_clusters; // that stay, of a round
    float scale;
    bool log, empty_row_zero;
    Hull saved_hull, gradient_hull; // of rows off the boundaries
};

// The warps along a row that a block may have.
inline constexpr int backward_vector_sizes = 3;
inline constexpr int backward_vector_warps[backward_vector_sizes] = {8, 16, 32};

// Of shared memory that the weights of a warp's logits wait in, where they do: those of 16-bit elements, in blocks that
// every GPU has that much for.
inline constexpr std::size_t backward_buffer_bytes = 4096;
constexpr bool buffers_weights(std::size_t element_bytes, bool from_logits, std::size_t most_warps) {
    return element_bytes == 2 && from_logits && most_warps <= 16;
}

// Clusters that stay: warps of a block at most, and tiles of a warp. What a warp holds of both arrays are 64
// words a lane, and as many on their way.
inline constexpr std::size_t backward_persistent_block_warps = 16;
inline constexpr std::size_t backward_persistent_sum_bytes = 4096; // of shared memory, beside what warps hold
constexpr std::size_t backward_persistent_tiles(std::size_t element_bytes) { return element_bytes == 2 ? 2 : 1; }

struct BackwardVectorKernels {
    const void *of[2][backward_vector_sizes]; // from outputs, from logits; nullptr: not served
    const void *resident[2];
    const void *anywhere[2];    // of rows anywhere
    std::size_t warps_anywhere; // that a block of these may have
    int element_bytes;
};

template <class T>
const BackwardVectorKernels &backward_vector_kernels();

// Of short rows, several a warp.
struct BackwardVectorRowsKernels {
    const void *of[2]; // from outputs, from logits
};

template <class T>
const BackwardVectorRowsKernels &backward_sub_warp_kernels();

} // namespace wr::cuda
