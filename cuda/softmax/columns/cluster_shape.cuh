// How a cluster's blocks and threads share a tile of columns, and what a block keeps of it in shared memory.
#pragma once

#include "cuda/device/dynamic_shared_memory.cuh"
#include "cuda/rowwise/column_words.cuh"
#include "cuda/softmax/columns/cluster_kernels.h"
#include "cuda/softmax/rows/cluster_rows.cuh"

namespace wr::cuda {

// How the threads of a block share its part of a tile of 2^LogAcross vectors side by side: each takes a vector of a few
// rows below each other. All these numbers are powers of two.
template <class T, int LogAcross, int Warps>
struct ColumnShape {
    static constexpr int each = vector_elements<T>, rows = lane_elements / each; // of a thread
    static constexpr int word_columns = each / vector_words;
    static constexpr int across = 1 << LogAcross, words = across * vector_words, columns = across * each;
    static constexpr int log_columns = LogAcross + log2_of(each);
    static constexpr int warp_rows = warp_lanes / across * rows, block_rows = Warps * warp_rows;
    static constexpr int base_rows = static_cast<int>(softmax_block);
    static constexpr int span = base_rows / smaller(block_rows, base_rows);   // blocks that share a tile
    static constexpr int group_warps = smaller(Warps, base_rows / warp_rows); // of a block that share a tile
    static constexpr int tile_count = Warps / group_warps;                    // of a block: 1 where it has less
    static constexpr int threads = Warps * warp_lanes;
};

// Lanes that put together what group_warps warps have of an item, and how much of it each lane takes.
template <class Shape, int Items>
struct ColumnItems {
    static constexpr int lanes = smaller(smaller(Shape::group_warps, Shape::threads / Items), warp_lanes);
    static constexpr int run = Shape::group_warps / lanes;
    static constexpr int threads = Items * lanes;
    static_assert(lanes > 0 && threads % warp_lanes == 0);
};

// What a block keeps in shared memory, in front of the vectors that each thread has to itself and of the states.
template <class T, class Shape>
struct alignas(vector_bytes) ColumnMemory {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;

    unsigned maxima[Shape::group_warps * Shape::tile_count][Shape::words + 1]; // of warps
    alignas(vector_bytes) Sum sums[Shape::group_warps * Shape::tile_count][Shape::columns + 1];
    alignas(vector_bytes) unsigned block_maxima[larger(Shape::span, Shape::tile_count)][Shape::words];
    alignas(vector_bytes) Float high[Shape::tile_count][Shape::columns]; // factors of the outputs
    alignas(vector_bytes) Float low[Shape::tile_count][Shape::columns];
    Mbarrier maxima_arrived;
    Mbarrier states_arrived[2]; // of tiles in turn
};

template <class T, class Shape>
inline constexpr std::size_t column_fixed_bytes = // less the states
    sizeof(ColumnMemory<T, Shape>) + Shape::threads * static_cast<std::size_t>(Shape::rows) * vector_bytes;

template <class T, class Shape>
inline constexpr std::size_t column_state_bytes = // for each part of a column
    2 * Shape::columns * sizeof(RowState<typename SoftmaxArithmetic<T>::Float, typename SoftmaxArithmetic<T>::Sum>);

// A thread's vectors in one tile.
template <class T, class Shape>
struct ColumnVectors {
    std::uint64_t outer, inner; // of the first column
    int first, count;           // rows of the axis; count is below 1 where there are none

    __device__ __forceinline__ ColumnVectors(const SoftmaxColumnArguments &a, std::uint32_t tile) {
        const int x = thread_x_again(), lane = x % warp_lanes;
        std::uint32_t number = tile;
        outer = 0;
        if (a.softmax.outer != 1) {
            outer = tile / a.tiles_across;
            number = tile % a.tiles_across;
        }
        inner = (static_cast<std::uint64_t>(number) << Shape::log_columns) +
                static_cast<unsigned>(lane % Shape::across * Shape::each);
        first = static_cast<int>(block_in_cluster()) * Shape::block_rows + x / warp_lanes * Shape::warp_rows +
                lane / Shape::across * Shape::rows;
        count = inner < a.softmax.inner ? static_cast<int>(a.softmax.axis) - first : 0;
    }
    __device__ __forceinline__ const char *input(const SoftmaxArguments &a) const {
        return reinterpret_cast<const char *>(static_cast<const T *>(a.input) +
                                              static_cast<std::ptrdiff_t>(outer) * a.outer_stride +
                                              first * a.axis_stride + static_cast<std::ptrdiff_t>(inner));
    }
    __device__ __forceinline__ std::uint64_t output(const SoftmaxArguments &a) const {
        return (outer * a.axis + static_cast<std::uint64_t>(first)) * a.inner + inner;
    }
};

} // namespace wr::cuda
