// The tuning numbers of softmax's gradient beside those that it shares with softmax (cuda/rowwise/policy.h).
#pragma once

#include "cuda/common/gpu_facts.h"

#include <cstddef>

namespace wr::cuda {

// The figures are an H200's, us by the rule and, behind the semicolon, without it.
struct SoftmaxBackwardPolicy {
    // Rows one behind the other of up to so many elements share a warp; those that are no whole vectors up to so many,
    // and of up to the last a block has a row, element by element.
    std::size_t sub_warp_axis = 512;
    std::size_t sub_warp_element_axis = 64;
    std::size_t element_axis = 512;

    // Rows one behind the other and off the boundaries, of up to so many elements: a block has several where a
    // multiprocessor has more elements than this of rows that would share a warp, of those of a block each, and of
    // longer ones (log-softmax's, 100000 x 3 f32 2.90; 3.69, 151296 x 197 bf16 62; 99, 36928 x 577 f32 62; 91). Its
    // elements, or twice as many; with up to the last a multiprocessor fewer are a thread's (60000 x 10
    // f32 3.24; 4.22).
    std::size_t flat_axis = 1024;
    std::size_t flat_sub_warp_elements = 2048;
    std::size_t flat_elements = 8192;
    std::size_t flat_longer_elements = 16384;
    std::size_t flat_block_elements = 2048;
    std::size_t flat_few_elements = 16384;

    // Rows of which elements are left out, or which have scales of their own, of fewer share a warp.
    std::size_t masked_axis = 257;

    // With no more elements a multiprocessor, of 4 and of 2 bytes, a warp has a quarter of a tile (8 x 1024
    // f32 1.44; 2.03, bf16 1.36; 1.73), of longer rows, and with up to as many as f32 has, half of one (64 x
    // 8192 2.79; 3.17).
    std::size_t few_elements = 8192;
    std::size_t few_narrow_elements = 4096;

    // Rows of more tiles than clusters hold whose blocks come and go are those of clusters that stay.
    std::size_t persistent_tiles = 128;

    // Columns of up to so many elements are tiles in registers, elements left out or not: TB/s, f32 512 3.68; 1.85,
    // 4096 2.98; 1.83. Threads of a block that has tiles to itself.
    std::size_t column_tile_axis = 4096;
    std::size_t column_tile_threads = 256;
};

inline constexpr SoftmaxBackwardPolicy plain_softmax_backward_policy{};
inline constexpr SoftmaxBackwardPolicy h200_softmax_backward_policy{.few_elements = 16384};

// A lane adds up to 32 terms of a flat row by itself, a block holds at least one row with its gaps, and a thread has 16
// elements of twice as many as a block's at most (flat_rows.cuh).
inline constexpr bool has_kernels(const SoftmaxBackwardPolicy &p) {
    return p.flat_axis <= 1024 && p.flat_block_elements <= 2048 && p.flat_axis + 7 <= p.flat_block_elements;
}
static_assert(has_kernels(plain_softmax_backward_policy) && has_kernels(h200_softmax_backward_policy));

inline const SoftmaxBackwardPolicy &softmax_backward_policy(const GpuFacts &gpu) {
    return gpu.compute_major == 9 ? h200_softmax_backward_policy : plain_softmax_backward_policy;
}

} // namespace wr::cuda
