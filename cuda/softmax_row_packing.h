// How short rows of whole vectors share a warp.
#pragma once

#include "cuda/launch.h"
#include "cuda/softmax_kernels.h"
#include "cuda/warp.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

// The places of a vector that each row has, a power of two, and how many rows that leaves room for. The exchange needs
// a row to have as many places as a lane has registers.
struct RowPacking {
    std::size_t places, warp_rows;

    constexpr RowPacking(std::size_t axis, std::size_t vector_elements) {
        const std::size_t vectors = softmax_block / vector_elements; // of a warp
        places = std::max(std::bit_ceil(axis / vector_elements), vectors / warp_threads);
        warp_rows = vectors / places;
    }
};

// Blocks for so many rows.
inline Launch packed_launch(const void *kernel, std::size_t rows, const RowPacking &packing, const GpuFacts &gpu) {
    Launch how{kernel, divide_up(rows, packing.warp_rows * softmax_short_row_warps),
               static_cast<int>(softmax_short_row_warps * warp_threads)};
    how.dependent = gpu.dependent_launch;
    return how;
}

} // namespace wr::cuda
