// Rows: a warp, a block, a cluster or many blocks share a row, by the tiles that Access reads.
#pragma once

#include "cuda/device/barriers.cuh"
#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/arguments.h"
#include "cuda/reduce/finish.cuh"
#include "cuda/reduce/partials.cuh"
#include "cuda/reduce/quick_way.cuh"
#include "cuda/reduce/sets.cuh"
#include "cuda/reduce/tile_access.cuh"
#include "numerics/state_kinds.h"

namespace wr::cuda {

// Tiles that a warp can take one after the other: each result waits in a lane of its own.
inline constexpr int most_tiles_a_warp = warp_lanes;

// The tiles of a row that a warp takes: as many as `most` (a power of two) neighbours, of which the row may have fewer,
// whose result lane 0 gets, or so many of those that are dealt to `step` warps, of which each lane keeps one.
struct WarpTiles {
    std::size_t first;
    int most, step = 1;
    bool dealt = false;
};

// The result of a warp's tiles. Tiles behind the row's end count as the identity.
template <class Access, class T, class Op>
__device__ __forceinline__ typename Op::Accumulator walk_tiles(const Row<T> &row, ReadableRange readable_range,
                                                               const WarpTiles &tiles, const Mapping &m) {
    constexpr std::size_t elements = Access::elements;
    const std::size_t row_tiles = (row.count + elements - 1) / elements;
    const std::size_t left = row_tiles - smaller(row_tiles, tiles.first);
    typename Op::Accumulator mine = Op::identity();
    if (left > 0) {
        const std::size_t all =
            tiles.dealt ? (left + static_cast<unsigned>(tiles.step) - 1) / static_cast<unsigned>(tiles.step) : left;
        const int count = static_cast<int>(smaller(all, static_cast<std::size_t>(tiles.most)));
        Access::for_each_tile(row, readable_range, {tiles.first, count, tiles.step}, m,
                              [&](int t, typename Op::Accumulator result) {
                                  if constexpr (Op::order_free) {
                                      mine = Op::combine(mine, result);
                                  } else {
                                      mine = lane_index() == t ? result : mine;
                                  }
                              });
    }
    if constexpr (finds_place<T, Op> && Access::by_vectors) {
        return mine; // every lane's
    }
    return tiles.dealt ? mine : tree_over_lanes<Op>(mine, Op::order_free ? warp_lanes : tiles.most);
}

template <class Access, class T, class Op>
__device__ __noinline__ typename Op::Accumulator walk_tiles_again(Row<T> row, WarpTiles tiles, const Mapping &m) {
    return walk_tiles<Access, T, Op>(row, ReadableRange{}, tiles, m);
}

// The same by an operator's quick way, which Access takes.
template <class Access, class T, class Op>
__device__ __forceinline__ typename Op::Accumulator warp_reduce(const Row<T> &row, ReadableRange readable_range,
                                                                const WarpTiles &tiles, const Mapping &m) {
    const auto result = walk_tiles<Access, T, QuickOf<Op>>(row, readable_range, tiles, m);
    if constexpr (!has_quick_way<Op>) {
        return result;
    } else if (__all_sync(whole_warp, QuickOf<Op>::is_enough(result)) != 0) {
        return scaled_form(result);
    } else {
        using Again = std::conditional_t<Access::by_vectors, SingleTiles<T, Op>, StridedAccess<T, Op>>;
        return walk_tiles_again<Again, T, Op>(row, tiles, m);
    }
}

// partialBlockReduce: the results of groups of `warps` (a power of two) neighbouring warps, through shared memory. The
// first lane of each group gets its group's; the other lanes get the identity. To be called once in a kernel.
template <class Op, int BlockWarps>
__device__ __forceinline__ typename Op::Accumulator partialBlockReduce(typename Op::Accumulator warp_result,
                                                                       int warps) {
    __shared__ typename Op::Accumulator results[BlockWarps];
    if (lane_index() == 0) {
        results[warp_index()] = warp_result;
    }
    __syncthreads();
    typename Op::Accumulator sum = Op::identity();
    if ((warp_index() & (warps - 1)) == 0) {
        sum = lane_index() < warps ? results[warp_index() + lane_index()] : Op::identity();
        sum = tree_over_lanes<Op>(sum, warps);
        sum = lane_index() == 0 ? sum : Op::identity();
    }
    return sum;
}

// What a block's warps have of a row's tiles that were dealt to them, one a lane, into one result, for the first warp.
template <class Op>
__device__ __forceinline__ typename Op::Accumulator tree_of_dealt_tiles(typename Op::Accumulator of_lane, int row_tiles,
                                                                        int turns, int warps) {
    __shared__ typename Op::Accumulator results[most_dealt_tiles];
    const int lane = lane_index(), number = lane * warps + warp_index();
    if (lane < turns && number < row_tiles) {
        results[number] = of_lane;
    }
    __syncthreads();
    constexpr int most = most_dealt_tiles / warp_lanes;
    typename Op::Accumulator values[most];
#pragma unroll
    for (int i = 0; i < most; ++i) {
        values[i] = lane * most + i < row_tiles ? results[lane * most + i] : Op::identity();
    }
    return tree_over_lanes<Op>(tree_of_elements<Op>(values), warp_lanes);
}

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

// What of a row is one of its splits; of small nodes, which share one, this warp's.
struct RowPart {
    std::uint64_t first, count;
    std::ptrdiff_t node; // negative: none
    bool alone;          // the warp has a node, or nothing, by itself
};

inline __device__ __noinline__ RowPart part_of_row(const RowArguments &a, std::size_t split) {
    const RowNodes &nodes = a.nodes;
    const std::size_t behind = a.splits - 1 - split;
    const std::size_t front = splits_of_nodes(nodes.growing, nodes.small());
    const bool grows = split < front;
    if (!grows && behind >= splits_of_nodes(nodes.shrinking, nodes.small())) {
        return {nodes.growing + (split - front) * nodes.run, nodes.run, -1, false};
    }
    const std::uint64_t all = grows ? nodes.growing : nodes.shrinking;
    const auto smalls = static_cast<std::size_t>(__popcll(all & nodes.small()));
    const std::size_t at = grows ? split : behind, shared = divide_up(smalls, std::size_t{nodes_of_split});
    const bool alone = at < shared;
    const std::size_t from_smallest =
        alone ? at * nodes_of_split + static_cast<std::size_t>(warp_index()) : at - shared + smalls;
    if (alone && from_smallest >= smalls) {
        return {0, 0, -1, true};
    }
    std::uint64_t bits = all;
    for (std::size_t i = from_smallest; i != 0; --i) {
        bits &= bits - 1;
    }
    const std::uint64_t count = bits & (0 - bits);
    if (grows) {
        return {all - bits, count, static_cast<std::ptrdiff_t>(from_smallest), alone};
    }
    const std::ptrdiff_t node = nodes.first_shrinking + __popcll(all) - 1 - static_cast<std::ptrdiff_t>(from_smallest);
    return {a.axis - all + (bits - count), count, node, alone};
}

// Whether a kernel's rows may have nodes: those that begin anywhere. The others would be slower for it (sums of 1024 x
// 8192 f32 6.7 us on an H200 instead of 6.5). Operators that are exact in any order have none.
template <class Op, class Access>
inline constexpr bool takes_nodes = !Op::order_free && (is_partial<Op> || requires { Access::begins_anywhere; });

// Whether a row's tiles may be dealt to a block's warps one by one: not in plain sums, whose few rows take 0.1 us
// longer where it is asked for, and whose many rows of 25 tiles gain 8 %.
template <class Op>
inline constexpr bool may_be_dealt = !Op::order_free && !is_partial<Op> && !is_made_of<Op, FloatSum>;

// What a warp reduces of a row. Weights are those from a part's first element on. `alone`: as the part has it.
template <class T, class Op, class Access>
__device__ __forceinline__ typename Op::Accumulator
reduce_warps_tiles(const RowArguments &a, Row<T> row, std::size_t split, std::size_t own_warp, bool &alone) {
    const auto most = static_cast<std::size_t>(a.tiles);
    WarpTiles tiles{((split << a.warps_log2) + own_warp) * most, a.tiles};
    if (may_be_dealt<Op> && a.dealt != 0) {
        tiles = {static_cast<std::size_t>(warp_index()), a.tiles, a.dealt, true};
    }
    if constexpr (!takes_nodes<Op, Access>) {
        return warp_reduce<Access, T, Op>(row, a.readable_range, tiles, a.mapping);
    } else {
        const void *weights = a.mapping.weights;
        if (a.destination == Destination::nodes) {
            const RowPart part = part_of_row(a, split);
            alone = part.alone;
            row.data += static_cast<std::ptrdiff_t>(part.first) * row.stride;
            row.count = part.count;
            tiles.first = alone ? 0 : own_warp * most;
            weights = static_cast<const char *>(weights) + part.first * static_cast<std::size_t>(a.nodes.weight_bytes);
        }
        if constexpr (Op::positional) {
            Mapping mapping = a.mapping;
            mapping.weights = weights;
            return warp_reduce<Access, T, Op>(row, a.readable_range, tiles, mapping);
        } else {
            return warp_reduce<Access, T, Op>(row, a.readable_range, tiles, a.mapping);
        }
    }
}

// Hands on the result of one split of a row; called by every thread of the split's warps, the value is in lane 0 of the
// first.
template <class Op, bool Nodes = false>
__device__ __forceinline__ void deliver(const RowArguments &a, typename Op::Accumulator value, std::size_t row,
                                        std::size_t split) {
    if (lane_index() != 0) {
        return;
    }
    if (a.destination == Destination::output) {
        finish_result(value, a.finish, a.output, row);
        return;
    }
    if (Nodes && a.destination == Destination::nodes) {
        const RowPart part = part_of_row(a, split);
        if (part.node >= 0) {
            store_node(Op::settle(value), a.nodes.accumulators, static_cast<std::size_t>(part.node) * a.rows + row);
        }
        if (part.node >= 0 || part.alone) {
            return;
        }
    }
    store_partial<Op>(value, a.output, row * a.splits + split);
}

// Finishes a row whose splits are the blocks of a cluster, in the first of these, through its shared memory: `splits`
// lies in the same place in all of them. Called by all their threads, once every block runs, with a block's result in
// its first thread.
template <class Op>
__device__ __forceinline__ void finish_cluster(const RowArguments &a, typename Op::Accumulator *splits,
                                               typename Op::Accumulator value, std::size_t row, unsigned split) {
    if (threadIdx.x == 0) {
        *in_first_block(splits + split) = Op::settle(value);
    }
    synchronise_cluster();
    if (split == 0 && warp_index() == 0) {
        const int blocks = static_cast<int>(a.splits);
        value = lane_index() < blocks ? splits[lane_index()] : Op::identity();
        deliver<Op>(a, tree_over_lanes<Op>(value, blocks), row, 0);
    }
}

// The same for the kernels of rows: behind a call, for they seldom run as clusters.
template <class Op>
__device__ __noinline__ void finish_rows_of_cluster(const RowArguments &a, typename Op::Accumulator value,
                                                    std::size_t row) {
    __shared__ typename Op::Accumulator splits[most_cluster_blocks];
    synchronise_cluster(); // another block's shared memory may be written once that block runs
    finish_cluster<Op>(a, splits, value, row, block_in_cluster());
}

// The grid is of blocks' rows from first_row on; where several blocks share a row, of splits x rows: they
// leave partial results, or are a cluster.
template <class T, class Op, class Access>
__global__ void __launch_bounds__(row_block_threads, Access::resident_blocks)
    reduce_rows(const __grid_constant__ RowArguments a) {
    pdl_wait_and_release(a);
    const std::size_t split = a.splits == 1 ? 0 : a.first_split + blockIdx.x;
    const unsigned group = a.splits == 1 ? blockIdx.x : blockIdx.y;
    const int warps = 1 << a.warps_log2;
    const unsigned block_warps = blockDim.x / static_cast<unsigned>(warp_lanes);
    const std::size_t row =
        may_be_dealt<Op> && a.dealt != 0
            ? a.first_row + group
            : a.first_row + ((static_cast<std::size_t>(group) * block_warps + static_cast<std::size_t>(warp_index())) >>
                             a.warps_log2);
    auto value = Op::identity();
    bool alone = false;
    if (row < a.rows) {
        value = reduce_warps_tiles<T, Op, Access>(a, row_at<T>(a, row), split,
                                                  static_cast<std::size_t>(warp_index() & (warps - 1)), alone);
    }
    if constexpr (may_be_dealt<Op>) {
        if (a.dealt != 0) {
            constexpr std::size_t elements = Access::elements;
            value =
                tree_of_dealt_tiles<Op>(value, static_cast<int>((a.axis + elements - 1) / elements), a.tiles, a.dealt);
            if (warp_index() == 0) {
                deliver<Op>(a, value, row, 0);
            }
            return;
        }
    }
    if (warps > 1 && !alone) {
        value = partialBlockReduce<Op, row_block_warps>(value, warps);
    }
    if constexpr (rows_run_as_clusters<T, Op> && Access::by_vectors) {
        if (a.splits > 1 && a.destination == Destination::output) {
            finish_rows_of_cluster<Op>(a, value, row);
            return;
        }
    }
    if (row < a.rows && (alone || (warp_index() & (warps - 1)) == 0)) {
        deliver<Op, takes_nodes<Op, Access>>(a, value, row, split);
    }
}

// Few rows of middling length: a cluster of blocks shares a row and finishes through distributed shared memory, in one
// launch, with no workspace and no counter.
inline constexpr int most_cluster_warps = 16; // of a block

// What a warp of a cluster has of tiles that lie on the boundaries, all of them on their way at the same time: a
// cluster's warps are too few to make up for one that waits. `tiles` of which, one or two, `count` vectors are there,
// at least one.
template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator first_vectors_of_tiles(const char *at, std::size_t count, int tiles,
                                                                           const Mapping &m) {
    constexpr int tile_vectors = tree_registers * warp_lanes;
    const char *mine = at + lane_index() * vector_bytes;
    const int vectors = static_cast<int>(smaller<std::size_t>(count, 2 * tile_vectors));
    uint4 lower[tree_registers], upper[tree_registers];
    load_repeating_last(mine, vectors, lower);
    if (tiles == 2) {
        load_repeating_last(mine + tile_bytes, vectors - tile_vectors, upper);
    }
    __syncwarp(); // or the compiler asks for the upper ones once it has used the lower
    const auto result = result_of_first_vectors<T, Op>(lower, vectors, m);
    return tiles != 2 ? result : Op::combine(result, result_of_first_vectors<T, Op>(upper, vectors - tile_vectors, m));
}

// The same of two that are whole: 2^18 f32 3.08 us, as above 3.31.
template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator two_whole_tiles(const char *at, const Mapping &m) {
    uint4 lower[tree_registers], upper[tree_registers];
    load_aligned_tile(at, lower);
    load_aligned_tile(at + tile_bytes, upper);
    __syncwarp(); // as above
    const Weights<T, Op, tree_registers> none(m, 0, 0);
    const auto result = result_of_vectors<T, Op>(lower, none, m, 0);
    return Op::combine(result, result_of_vectors<T, Op>(upper, none, m, 0));
}

// The result of `tiles` tiles of a row, in lane 0.
template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator
cluster_warp_reduce(const Row<T> &row, ReadableRange readable_range, std::size_t first, int tiles, const Mapping &m) {
    static_assert(!Op::positional);
    const char *at = reinterpret_cast<const char *>(row.data) + first * tile_bytes;
    const std::size_t left = row.count - smaller(first * tile_elements<T>, row.count);
    if (tiles > 2 || left == 0 || left % vector_elements<T> != 0 || offset_in_vector(at) != 0) {
        return warp_reduce<UnalignedAccess<T, Op>, T, Op>(row, readable_range, {first, tiles}, m);
    }
    const auto result = tiles == 2 && left >= 2 * tile_elements<T>
                            ? two_whole_tiles<T, Op>(at, m)
                            : first_vectors_of_tiles<T, Op>(at, left / vector_elements<T>, tiles, m);
    return Op::order_free ? tree_over_lanes<Op>(result, warp_lanes) : result;
}

// a.splits blocks form the cluster, the grid is of clusters side by side; all of a block's warps work on its row.
template <class T, class Op>
__global__ void __launch_bounds__(most_cluster_warps *warp_lanes)
    reduce_cluster_rows(const __grid_constant__ RowArguments a) {
    pdl_wait_and_release(a);
    __shared__ typename Op::Accumulator splits[most_cluster_blocks];
    join_cluster(); // another block's shared memory may be written once that block runs: waited for below
    const unsigned blocks = static_cast<unsigned>(a.splits);
    const unsigned row = blockIdx.x / blocks;
    const unsigned split = blockIdx.x % blocks;
    const std::size_t warp = (static_cast<std::size_t>(split) << a.warps_log2) + static_cast<std::size_t>(warp_index());
    auto value = cluster_warp_reduce<T, Op>(row_at<T>(a, row), a.readable_range,
                                            warp * static_cast<std::size_t>(a.tiles), a.tiles, a.mapping);
    value = partialBlockReduce<Op, most_cluster_warps>(value, 1 << a.warps_log2);
    await_cluster();
    finish_cluster<Op>(a, splits, value, row, split);
}

} // namespace wr::cuda
