// Rows: a warp, a block, a cluster or many blocks share a row, by the tiles that Access reads.
#pragma once

#include "cuda/device/cluster.cuh"
#include "cuda/reduce/arguments.h"
#include "cuda/reduce/cta_reduce.cuh"
#include "cuda/reduce/finish.cuh"
#include "cuda/reduce/partials.cuh"
#include "cuda/reduce/sets.cuh"

namespace wr::cuda {

inline constexpr int row_block_warps = 8;
inline constexpr int row_block_threads = row_block_warps * warp_lanes;
inline constexpr int most_cluster_blocks = 16;

// How far a row's first element lies from the input's. Behind a call where it takes a division.
inline __device__ __noinline__ std::ptrdiff_t row_offset_by_division(const RowArguments &a, std::size_t row) {
    const std::size_t o = row / a.inner, i = row % a.inner;
    return static_cast<std::ptrdiff_t>(o) * a.outer_stride + static_cast<std::ptrdiff_t>(i) * a.inner_stride;
}

template <class T>
__device__ __forceinline__ Row<T> row_at(const RowArguments &a, std::size_t row) {
    const std::ptrdiff_t offset =
        a.inner == 1 ? static_cast<std::ptrdiff_t>(row) * a.outer_stride : row_offset_by_division(a, row);
    return {static_cast<const T *>(a.input) + offset, a.axis, a.axis_stride};
}

// What of a row is one of its pieces.
struct RowPart {
    std::uint64_t first, count;
    std::ptrdiff_t node; // negative: none
};

inline __device__ __noinline__ RowPart part_of_row(const RowArguments &a, std::size_t piece) {
    const RowNodes &nodes = a.nodes;
    const std::size_t behind = a.pieces - 1 - piece;
    const int growing = __popcll(nodes.growing), shrinking = __popcll(nodes.shrinking);
    const bool grows = piece < static_cast<std::size_t>(growing);
    if (!grows && behind >= static_cast<std::size_t>(shrinking)) {
        const std::size_t before = piece - static_cast<std::size_t>(growing);
        return {nodes.growing + before * nodes.run, nodes.run, -1};
    }
    const std::uint64_t all = grows ? nodes.growing : nodes.shrinking;
    std::uint64_t bits = all;
    for (std::size_t i = grows ? piece : behind; i != 0; --i) {
        bits &= bits - 1;
    }
    const std::uint64_t count = bits & (0 - bits);
    if (grows) {
        return {all - bits, count, static_cast<std::ptrdiff_t>(piece)};
    }
    const std::size_t node = nodes.first_shrinking + static_cast<std::size_t>(shrinking - 1) - behind;
    return {a.axis - all + (bits - count), count, static_cast<std::ptrdiff_t>(node)};
}

// What a warp reduces: `tiles` tiles of a row from number `first_tile` on. Operators that are exact in any order have
// no nodes; those with weights take them from the part's first element on.
template <class T, class Op, class Access>
__device__ __forceinline__ typename Op::Accumulator reduce_warps_tiles(const RowArguments &a, Row<T> row,
                                                                       std::size_t piece, std::size_t own_warp) {
    const auto tiles = static_cast<std::size_t>(a.tiles);
    if constexpr (Op::order_free) {
        return warp_reduce<Access, T, Op>(row, a.hull, ((piece << a.warps_log2) + own_warp) * tiles, a.tiles,
                                          a.mapping);
    } else {
        std::size_t first_tile = ((piece << a.warps_log2) + own_warp) * tiles;
        const void *weights = a.mapping.weights;
        if (a.nodes.any()) {
            const RowPart part = part_of_row(a, piece);
            row.data += static_cast<std::ptrdiff_t>(part.first) * row.stride;
            row.count = part.count;
            first_tile = own_warp * tiles;
            weights = static_cast<const char *>(weights) + part.first * a.nodes.weight_bytes;
        }
        if constexpr (Op::positional) {
            Mapping mapping = a.mapping;
            mapping.weights = weights;
            return warp_reduce<Access, T, Op>(row, a.hull, first_tile, a.tiles, mapping);
        } else {
            return warp_reduce<Access, T, Op>(row, a.hull, first_tile, a.tiles, a.mapping);
        }
    }
}

// Hands on the result of one piece of a row; called by every thread of the piece's warps, the value is in lane 0 of the
// first.
template <class Op>
__device__ __forceinline__ void deliver(const RowArguments &a, typename Op::Accumulator value, std::size_t row,
                                        std::size_t piece) {
    if (lane_index() != 0) {
        return;
    }
    if (a.destination == Destination::output) {
        finish_result(value, a.finish, a.output, row);
        return;
    }
    if (!Op::order_free && a.nodes.any()) {
        const std::ptrdiff_t node = part_of_row(a, piece).node;
        if (node >= 0) {
            store_partial<Op>(value, a.nodes.accumulators, static_cast<std::size_t>(node) * a.rows + row);
            return;
        }
    }
    store_partial<Op>(value, a.output, row * a.pieces + piece);
}

// Finishes a row whose pieces are the blocks of a cluster, in the first of these, through its shared memory: `pieces`
// lies in the same place in all of them. Called by all their threads, once every block runs, with a block's result in
// its first thread.
template <class Op>
__device__ __forceinline__ void finish_cluster(const RowArguments &a, typename Op::Accumulator *pieces,
                                               typename Op::Accumulator value, std::size_t row, unsigned piece) {
    if (threadIdx.x == 0) {
        *in_first_block(pieces + piece) = Op::settle(value);
    }
    synchronise_cluster();
    if (piece == 0 && warp_index() == 0) {
        const int blocks = static_cast<int>(a.pieces);
        value = lane_index() < blocks ? pieces[lane_index()] : Op::identity();
        deliver<Op>(a, tree_over_lanes<Op>(value, blocks), row, 0);
    }
}

// The same for the kernels of rows: behind a call, for they seldom run as clusters.
template <class Op>
__device__ __noinline__ void finish_rows_of_cluster(const RowArguments &a, typename Op::Accumulator value,
                                                    std::size_t row) {
    __shared__ typename Op::Accumulator pieces[most_cluster_blocks];
    synchronise_cluster(); // another block's shared memory may be written once that block runs
    finish_cluster<Op>(a, pieces, value, row, block_in_cluster());
}

// The grid is of blocks' rows from first_row on; where several blocks share a row, of pieces x rows: they
// leave partial results, or are a cluster.
template <class T, class Op, class Access>
__global__ void __launch_bounds__(row_block_threads, Access::resident_blocks)
    reduce_rows(const __grid_constant__ RowArguments a) {
    take_place_on_stream();
    const std::size_t piece = a.pieces == 1 ? 0 : a.first_piece + blockIdx.x;
    const unsigned group = a.pieces == 1 ? blockIdx.x : blockIdx.y;
    const int warps = 1 << a.warps_log2;
    const unsigned block_warps = blockDim.x / static_cast<unsigned>(warp_lanes);
    const std::size_t row =
        a.first_row +
        ((static_cast<std::size_t>(group) * block_warps + static_cast<std::size_t>(warp_index())) >> a.warps_log2);
    auto value = Op::identity();
    if (row < a.rows) {
        value = reduce_warps_tiles<T, Op, Access>(a, row_at<T>(a, row), piece,
                                                  static_cast<std::size_t>(warp_index() & (warps - 1)));
    }
    if (warps > 1) {
        value = partialBlockReduce<Op, row_block_warps>(value, warps);
    }
    if constexpr (rows_run_as_clusters<T, Op> && Access::by_vectors) {
        if (a.pieces > 1 && a.destination == Destination::output) {
            finish_rows_of_cluster<Op>(a, value, row);
            return;
        }
    }
    if (row < a.rows && (warp_index() & (warps - 1)) == 0) {
        deliver<Op>(a, value, row, piece);
    }
}

} // namespace wr::cuda
