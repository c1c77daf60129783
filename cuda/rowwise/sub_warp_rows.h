// How short rows share a warp.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/common/vector_types.h"
#include "cuda/common/warp.h"
#include "cuda/softmax/kernels.h"
#include "numerics/problem.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

// Softmax: rows up to so many elements that touch each other share a warp (f32 of 128: 4.11 TB/s on an H200, 2.45
// before); of whole vectors of 16-bit elements, longer ones are taken by the same kernel where those that give each row
// a warp are no quicker (bf16 of 800, 1000: 3.62, 4.13, by softmax_rows 3.34, 4.01; off the boundaries 600,
// 1000 2.72, 3.78 and 2.50, 3.61, log 600 2.06 and 1.95; but 520, 768 2.88, 3.86 and 2.85, 4.10, log 1000 3.41
// and 3.65, with logsumexp 800, 1000 2.84, 3.48 and 3.21, 3.88, and off the boundaries 600, 1000 1.94, 2.85
// and 2.36, 3.47).
inline constexpr std::size_t softmax_short_row = 512;
inline constexpr std::size_t softmax_narrow_vector_row = 1008;

// Short 16-bit rows that no kernel packs: a warp waits for two stages' worth of them together where each multiprocessor
// has so many warps (TB/s on an H200, bf16 of 50, 100, 301 2.85 for 2.34, 2.79 for 2.31, 2.40 for 2.20; but 20000 rows
// of 301 15.9 us for 14.0). Of one stage's worth in turn only while so many are left (us, one turn and all: bf16 10000
// x 301 8.7 and 9.5, f32 100000 x 5 4.5 and 7.9, with lanes 1000 x 3 4.5 and 12.1; but with 48 here bf16 300000 x 17
// 11.2 and 9.5), and rows have more lanes each until there are so many (masked f32, 4224 x 33 4.9 and 8.0 with one
// lane, 4224 x 5 4.2 and 15.5; with 8 here 30000 x 17 6.9 and 5.5).
inline constexpr std::size_t softmax_staged_warps = 48;
inline constexpr std::size_t softmax_staged_least_warps = 24;
inline constexpr std::size_t softmax_staged_few_warps = 4;

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
        const auto on_each = [&](std::size_t warps) { return static_cast<std::size_t>(gpu.multiprocessors) * warps; };
        lanes = vectors <= most_of_a_lane ? 1 : std::bit_ceil(divide_up(vectors, registers));
        while (lanes < std::min<std::size_t>(std::bit_ceil(vectors), warp_threads) &&
               s.outer * lanes / warp_threads < on_each(softmax_staged_few_warps)) {
            lanes *= 2;
        }
        const std::size_t rows = warp_threads / lanes, stage = warp_threads * (registers + 1) * elements;
        const std::size_t of_stages = softmax_short_row_stages(element_bytes) * stage / (rows * s.axis);
        const std::size_t of_each = s.outer / (rows * on_each(softmax_staged_least_warps));
        batches = std::max<std::size_t>(std::min(stage / (rows * s.axis), of_each), 1);
        if (s.outer >= rows * of_stages * on_each(softmax_staged_warps)) {
            batches = std::max(batches, of_stages);
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
