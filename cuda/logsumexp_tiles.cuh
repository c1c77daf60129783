// How a warp brings tiles of 1024 elements of rows into shared memory, the next one while it works on the one before,
// and how each lane takes its 32 neighbours of a row from there: a row of up to 32 elements is one lane's and a base
// block all lanes'. Here of rows of whole 16-byte vectors on their boundaries.
#pragma once

#include "cuda/logsumexp_rows.h"
#include "cuda/softmax_outputs.cuh"

namespace wr::cuda {

// Vectors of the elements that a lane takes.
template <class T>
inline constexpr int chunk_vectors = lane_elements / vector_elements<T>;

// Where vector g of a tile stands in shared memory: lanes that read their own chunks, and lanes that write neighbouring
// vectors, meet different banks.
__device__ __forceinline__ int staged_place(int g) { return g ^ ((g >> 3) & 7); }

// A warp's tile in shared memory, and of the lane's vectors number 0 and 1 (of the tile: lane and 32 + lane) the
// places; those of further ones lie at fixed distances.
struct Stage {
    uint4 *vectors;
    uint4 *even, *odd;

    __device__ __forceinline__ explicit Stage(uint4 *of_warp)
        : vectors(of_warp), even(of_warp + staged_place(lane_index())),
          odd(of_warp + staged_place(lane_index() + warp_lanes) - warp_lanes) {}

    __device__ __forceinline__ uint4 *place(int v) const { return (v % 2 == 0 ? even : odd) + v * warp_lanes; }
};

__device__ __forceinline__ void copy_vector_async(uint4 *to, const void *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
}
// The same of what will not be read again soon: the second-level cache need not keep it.
__device__ __forceinline__ void copy_once_async(uint4 *to, const void *from) {
    asm volatile("{\n"
                 ".reg .b64 policy;\n"
                 "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
                 "cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, policy;\n"
                 "}" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from)
                 : "memory");
}
__device__ __forceinline__ void await_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// The elements of a lane, as words.
template <class T>
inline constexpr int chunk_words = chunk_vectors<T> * 4;

template <class T>
struct Chunk {
    unsigned words[chunk_words<T>];

    __device__ __forceinline__ float operator[](int i) const { return __uint_as_float(words[i]); }

    // The lower one says nothing about NaN.
    __device__ __forceinline__ void extremes(float &lowest, float &highest) const {
        lowest = highest = __uint_as_float(words[0]);
#pragma unroll
        for (int i = 1; i < lane_elements; ++i) {
            highest = larger_with_nan(highest, __uint_as_float(words[i]));
            lowest = fminf(lowest, __uint_as_float(words[i]));
        }
    }
};
template <class Half>
    requires(sizeof(Half) == 2)
struct Chunk<Half> {
    unsigned words[chunk_words<Half>];

    __device__ __forceinline__ static float half_of(unsigned pair, int i) {
        return widen(Half{static_cast<std::uint16_t>(i % 2 == 0 ? pair & 0xFFFFu : pair >> 16)});
    }
    __device__ __forceinline__ float operator[](int i) const { return half_of(words[i / 2], i); }

    __device__ __forceinline__ void extremes(float &lowest, float &highest) const {
        unsigned largest = words[0], least = words[0];
#pragma unroll
        for (int i = 1; i < lane_elements / 2; ++i) {
            largest = larger_pair(largest, words[i], Half());
            least = smaller_pair(least, words[i], Half());
        }
        highest = larger_with_nan(half_of(largest, 0), half_of(largest, 1));
        lowest = fminf(half_of(least, 0), half_of(least, 1));
    }
};

// Where a warp's tile lies in memory. Each warp reads a run of neighbouring tiles: a share of the base blocks of its
// block's one unit, or units of its own. (Warps that take neighbouring tiles in turn are slower: 4.15 instead of 4.32
// TB/s on an H200.)
struct TileWalk {
    std::uint32_t unit;
    int block, blocks; // of the unit, as far as it is the warp's
    const char *data;
    int elements; // that are there from `data` on, where there are no gaps

    // Whether there is a tile for this warp.
    template <class T>
    __device__ __forceinline__ bool enter(const LogSumExpArguments &a) {
        if (a.by_blocks) {
            unit = blockIdx.x;
            const std::uint32_t row = unit / a.pieces, piece = unit - row * a.pieces;
            const int all = unit_blocks(a, piece), each = divide_up(all, logsumexp_block_warps);
            block = warp_index() * each;
            blocks = smaller(block + each, all);
            elements = (piece + 1 == a.pieces ? a.last_elements : a.unit_elements) - block * block_elements;
            data = static_cast<const char *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.row_step +
                   (static_cast<std::ptrdiff_t>(piece) * a.unit_blocks + block) * block_bytes<T>;
            return block < blocks;
        }
        unit = (blockIdx.x * static_cast<std::uint32_t>(logsumexp_block_warps) +
                static_cast<std::uint32_t>(warp_index())) *
               a.units_a_warp;
        block = 0;
        blocks = a.unit_blocks;
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

    __device__ __forceinline__ static int unit_blocks(const LogSumExpArguments &a, std::uint32_t piece) {
        return piece + 1 == a.pieces ? a.last_blocks : a.unit_blocks;
    }

    template <class T>
    static constexpr int block_bytes = static_cast<int>(softmax_block * sizeof(T));
    static constexpr int block_elements = static_cast<int>(softmax_block);
};

// Fills a warp's stage with what stands behind the end of a row.
template <class T>
__device__ __forceinline__ void clear_stage(uint4 *vectors, int count) {
    for (int v = lane_index(); v < count; v += warp_lanes) {
        vectors[v] = filler_vector<T>(false);
    }
    __syncwarp();
}

// The rows of a tile of short ones.
__device__ __forceinline__ int rows_of_tile(const LogSumExpArguments &a, const TileWalk &walk) {
    const int most = warp_lanes / a.row_lanes;
    return static_cast<int>(smaller<std::size_t>(a.rows - walk.unit * static_cast<std::size_t>(most), most));
}

template <class Type>
struct AlignedTiles {
    using T = Type;
    static constexpr int stage_vectors = warp_lanes * chunk_vectors<T>;
    static constexpr int resident_blocks = sizeof(T) == 4 ? 3 : 4; // of a multiprocessor

    // Starts the copies of a tile.
    __device__ __forceinline__ static void start(const LogSumExpArguments &a, const TileWalk &walk,
                                                 const Stage &stage) {
        const int lane = lane_index();
        const char *mine = walk.data + lane * vector_bytes;
        const int vectors = walk.elements / vector_elements<T>;
        if (a.gapped) {
            const int rows = rows_of_tile(a, walk);
#pragma unroll
            for (int v = 0; v < chunk_vectors<T>; ++v) {
                const int g = v * warp_lanes + lane;
                const int row = g * a.row_reciprocal >> 16;
                if (row < rows) {
                    copy_vector_async(stage.vectors + staged_place(g + row * a.lane_gap),
                                      mine + v * warp_lanes * vector_bytes + row * a.row_gap_bytes);
                }
            }
        } else if (vectors >= stage_vectors && walk.data < a.read_again_from) {
#pragma unroll
            for (int v = 0; v < chunk_vectors<T>; ++v) {
                copy_once_async(stage.place(v), mine + v * warp_lanes * vector_bytes);
            }
        } else if (vectors >= stage_vectors) {
#pragma unroll
            for (int v = 0; v < chunk_vectors<T>; ++v) {
                copy_vector_async(stage.place(v), mine + v * warp_lanes * vector_bytes);
            }
        } else {
#pragma unroll
            for (int v = 0; v < chunk_vectors<T>; ++v) {
                if (v * warp_lanes + lane < vectors) {
                    copy_vector_async(stage.place(v), mine + v * warp_lanes * vector_bytes);
                } else {
                    *stage.place(v) = filler_vector<T>(false);
                }
            }
        }
    }

    // Makes what the copies have brought a tile.
    __device__ __forceinline__ static void finish(const LogSumExpArguments &, const TileWalk &, const Stage &) {}

    __device__ __forceinline__ static Chunk<T> chunk(const LogSumExpArguments &, const TileWalk &, const Stage &stage) {
        Chunk<T> taken;
#pragma unroll
        for (int j = 0; j < chunk_vectors<T>; ++j) {
            const uint4 vector = stage.vectors[staged_place(lane_index() * chunk_vectors<T> + j)];
            memcpy(taken.words + 4 * j, &vector, sizeof(vector));
        }
        return taken;
    }
};

} // namespace wr::cuda
