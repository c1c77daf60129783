// How short rows share a warp.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/common/vector_types.h"
#include "cuda/common/warp.h"
#include "cuda/rowwise/policy.h"
#include "cuda/softmax/kernels.h"
#include "numerics/problem.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

// Of rows of whole vectors the places of a vector that each has, a power of two, and how many rows that leaves room
// for. The exchange needs a row to have as many places as a lane has registers.
struct RowPacking {
    std::size_t places, warp_rows;

    // Of a warp that holds so many elements.
    constexpr RowPacking(std::size_t axis, std::size_t vector_elements, std::size_t warp_elements = softmax_block) {
        const std::size_t vectors = warp_elements / vector_elements; // of a warp
        places = std::max(std::bit_ceil(axis / vector_elements), vectors / warp_threads);
        warp_rows = vectors / places;
    }
};

// The lanes that hold each row of any length, a power of two, and how many times as many rows a warp takes as that
// leaves room for: those that its stage holds, and fewer rows by more lanes where that would leave multiprocessors
// idle.
struct StagedRows {
    std::size_t lanes, batches, warp_rows;

    // One lane may have up to `most_of_a_lane` vectors.
    StagedRows(const Shape &s, std::size_t element_bytes, std::size_t most_of_a_lane, const GpuFacts &gpu) {
        const std::size_t elements = bytes_of_vector / element_bytes;
        const std::size_t registers = softmax_block / warp_threads / elements;
        const std::size_t vectors = divide_up(s.axis, elements);
        const RowwisePolicy &policy = rowwise_policy(gpu);

        lanes = vectors <= most_of_a_lane ? 1 : std::bit_ceil(divide_up(vectors, registers));
        while (lanes < std::min<std::size_t>(std::bit_ceil(vectors), warp_threads) &&
               s.outer * lanes / warp_threads < gpu.on_all(policy.staged_few_warps)) {
            lanes *= 2;
        }
        const std::size_t rows = warp_threads / lanes, stage = warp_threads * (registers + 1) * elements;
        const std::size_t of_stage = softmax_short_row_elements(element_bytes) / (rows * s.axis);
        const std::size_t of_each = s.outer / (rows * gpu.on_all(policy.staged_least_warps));
        batches = std::max<std::size_t>(std::min(stage / (rows * s.axis), of_each), 1);
        if (s.outer >= rows * of_stage * gpu.on_all(policy.staged_warps)) {
            batches = std::max(batches, of_stage);
        }
        warp_rows = rows * batches;
    }
};

// Blocks for rows of which a warp takes so many.
inline Launch short_rows_launch(const void *kernel, std::size_t rows, std::size_t warp_rows, const GpuFacts &gpu) {
    Launch how{kernel, divide_up(rows, warp_rows * softmax_short_row_warps),
               static_cast<int>(softmax_short_row_warps * warp_threads)};
    how.dependent = gpu.dependent_launch;
    return how;
}

} // namespace wr::cuda
