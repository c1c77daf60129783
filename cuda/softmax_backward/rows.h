// What the kernels for the gradient of rows of neighbouring elements are launched with. Plain data: host and GPU share
// it.
#pragma once

#include "cuda/common/vectors.h"
#include "numerics/host_device.h"
#include "numerics/problem.h"
#include "numerics/softmax.h"

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
    ReadableRange saved_range, gradient_range; // of rows off the boundaries
};

// The same where a mask or limits leave elements out.
struct MaskedBackwardVectorArguments : BackwardVectorArguments {
    Selection selection;
};

// The same of rows of which each has a scale of its own.
struct ScaledBackwardVectorArguments : BackwardVectorArguments {
    const void *scales;
};

// Short rows, one behind the other.
struct FlatBackwardArguments : BackwardVectorArguments {
    std::uint32_t block_rows; // of a block at most
    std::uint32_t reciprocal; // 2^32 / axis, rounded up: its product with a place below 2^16 has the row above 2^32
    std::int32_t lane_runs;   // of terms, that each of a row's lanes adds up: 1, 2 or 4
};

// The warps along a row that a block may have.
inline constexpr int backward_row_warps = 16;

// Elements of a warp that has a part of a tile: a quarter, half of one, or what it takes one by one.
inline constexpr std::size_t backward_quarter_tile = 256;
inline constexpr std::size_t backward_half_tile = 512;
inline constexpr std::size_t backward_element_tile = 128;

// The most half tiles of a block where clusters would not hold the row otherwise.
inline constexpr std::size_t backward_half_tile_warps = 32;

// Of shared memory that the weights of a warp's logits wait in, where they do: those of whole tiles of 16-bit elements.
inline constexpr std::size_t backward_buffer_bytes = 4096;

// Short rows one behind the other: threads of a block at most, and elements that each has; of f32 rows fewer where they
// are not so many.
inline constexpr std::size_t backward_flat_threads = 256;
inline constexpr std::size_t backward_flat_elements = 16, backward_flat_few_elements = 8;

// What elements bring to sums, in shared memory: so many a lane adds up at a time, of short rows so often; behind each
// so many a place is left out, so that lanes that add up as many, or a power of two less, begin in different banks. A
// warp that has a tile has a vector more.
inline constexpr std::size_t backward_term_run = 8, backward_term_runs = 4;
inline constexpr unsigned backward_term_gap = 32;
constexpr std::size_t backward_term_places(std::size_t elements) { return elements + elements / backward_term_gap; }
inline constexpr std::size_t backward_warp_terms = backward_term_places(softmax_block) + bytes_of_vector / 2;

// Clusters that stay: warps of a block at most, each with a tile. What a warp holds of both arrays are 64 words a lane,
// of 16-bit elements 32, and as many on their way.
constexpr std::size_t backward_persistent_block_warps(std::size_t element_bytes) {
    return element_bytes == 2 ? 24 : 16;
}
inline constexpr std::size_t backward_persistent_sum_bytes = 4096; // of shared memory, beside what warps hold
inline constexpr std::size_t backward_most_row_sums = 256;         // of tiles of a row, that meet in a cluster

// Several rows a warp; from outputs, from logits.
struct SubWarpKernels {
    const void *of[2];
    std::size_t warp_elements;
};

// Likewise.
struct BackwardVectorKernels {
    const void *whole_tiles[2], *half_tiles[2], *quarter_tiles[2]; // a warp's, of rows of whole vectors
    const void *masked[2];                                         // half a tile, for MaskedBackwardVectorArguments
    const void *persistent[2];
    const void *anywhere[2], *elements[2]; // rows anywhere: a tile a warp, or 128 elements, one by one
    const void *flat[2], *flat_few[2];     // for FlatBackwardArguments
    SubWarpKernels sub_warp_half_tiles, sub_warp_quarter_tiles, sub_warp_elements;
    std::size_t element_bytes;
};

template <class T>
const BackwardVectorKernels &backward_vector_kernels();

// A tile a warp, for ScaledBackwardVectorArguments.
struct ScaledBackwardKernels {
    const void *whole_tiles[2];
};
template <class T>
const ScaledBackwardKernels &scaled_backward_kernels();

// Rows that a cluster takes at least: what it costs to start one is that of a few.
inline constexpr std::uint32_t pipeline_least_rows = 4;

// Rows first, first + clusters, first + 2 clusters and so on.
struct PipelineRun {
    std::uint32_t first, rows;
};

// Clusters come in rounds of as many as the GPU holds. Those of a round share half of what is left: some
// multiprocessors are slower than others by a third where all wait for memory, and so take fewer of the later clusters.
WR_HD std::uint32_t pipeline_share(std::uint32_t rows_left, std::uint32_t clusters) {
    return larger(rows_left / 2 / clusters, pipeline_least_rows);
}

WR_HD PipelineRun pipeline_run(std::uint32_t rows, std::uint32_t clusters, std::uint32_t number) {
    std::uint32_t first = 0;
    for (; number >= clusters; number -= clusters) {
        first += clusters * pipeline_share(rows - first, clusters);
    }
    const std::uint32_t share = pipeline_share(rows - first, clusters);
    first += number;
    return {first, smaller(share, (rows - first + clusters - 1) / clusters)};
}

// All clusters, each of which has a row.
WR_HD std::uint32_t pipeline_clusters(std::uint32_t rows, std::uint32_t clusters) {
    std::uint32_t all = 0;
    for (std::uint32_t first = 0; first < rows; first += clusters * pipeline_share(rows - first, clusters)) {
        all += smaller(clusters, rows - first);
    }
    return all;
}

} // namespace wr::cuda
