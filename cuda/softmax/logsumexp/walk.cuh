// Which tiles of 1024 elements of rows a warp takes, and where they lie in memory.
#pragma once

#include "cuda/common/alignment.h"
#include "cuda/softmax/logsumexp/arguments.h"
#include "cuda/softmax/outputs.cuh"

namespace wr::cuda {

// Each warp reads a run of neighbouring tiles: a share of the tiles of its block's one unit, or units of its own.
// (Warps that take neighbouring tiles in turn are slower: 4.15 instead of 4.32 TB/s on an H200.)
struct TileWalk {
    std::uint32_t unit;
    int block, blocks; // of the unit, as far as it is the warp's
    const char *data;
    int elements; // from `data` on to the end of the unit, where rows touch each other

    // Whether there is a tile for this warp.
    template <class T>
    __device__ __forceinline__ bool enter(const LogSumExpArguments &a) {
        if (a.by_blocks) {
            unit = blockIdx.x;
            const std::uint32_t row = unit / a.splits, split = unit - row * a.splits;
            const int all = unit_tiles(a, split), each = divide_up(all, logsumexp_block_warps);
            block = warp_index() * each;
            blocks = smaller(block + each, all);
            elements = (split + 1 == a.splits ? a.last_elements : a.unit_elements) - block * block_elements;
            data = static_cast<const char *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.row_step +
                   (static_cast<std::ptrdiff_t>(split) * a.unit_tiles + block) * block_bytes<T>;
            return block < blocks;
        }
        unit = (blockIdx.x * static_cast<std::uint32_t>(logsumexp_block_warps) +
                static_cast<std::uint32_t>(warp_index())) *
               a.units_a_warp;
        block = 0;
        blocks = a.unit_tiles;
        elements = unit + 1 == a.units ? a.last_elements : a.unit_elements;
        data = static_cast<const char *>(a.input) + static_cast<std::ptrdiff_t>(unit) * a.row_step;
        return unit < a.units;
    }

    template <class T>
    __device__ __forceinline__ bool advance(const LogSumExpArguments &a, std::uint32_t end) {
        if (++block < blocks) {
            data += block_bytes<T>;
            elements -= block_elements;
            return true;
        }
        if (a.by_blocks) {
            return false;
        }
        ++unit;
        block = 0;
        elements = unit + 1 == a.units ? a.last_elements : a.unit_elements;
        data += a.unit_step;
        return unit < end;
    }

    // What the compiler has worked out of the tiles behind is worked out again: else it waits in registers.
    __device__ __forceinline__ void forget() { asm volatile("" : "+r"(unit), "+r"(block), "+r"(elements), "+l"(data)); }

    // Of the tile.
    __device__ __forceinline__ int count() const { return smaller(elements, block_elements); }

    // Where short rows share it.
    __device__ __forceinline__ int rows(const LogSumExpArguments &a) const {
        return static_cast<int>(
            smaller<std::size_t>(a.rows - unit * static_cast<std::size_t>(a.tile_rows), a.tile_rows));
    }

    __device__ __forceinline__ static int unit_tiles(const LogSumExpArguments &a, std::uint32_t split) {
        return split + 1 == a.splits ? a.last_tiles : a.unit_tiles;
    }

    template <class T>
    static constexpr int block_bytes = static_cast<int>(softmax_block * sizeof(T));
    static constexpr int block_elements = static_cast<int>(softmax_block);
};

} // namespace wr::cuda
