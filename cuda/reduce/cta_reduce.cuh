// From lanes to a warp's result, from warps to a block's.
#pragma once

#include "cuda/reduce/quick_way.cuh"
#include "cuda/reduce/tile_access.cuh"

namespace wr::cuda {

// Tiles that a warp can take one after the other: each result waits in a lane of its own.
inline constexpr int most_tiles_a_warp = warp_lanes;

// The result of `tiles` (a power of two) tiles of a row from `first_tile` on, in lane 0. Tiles behind the row's end
// count as the identity.
template <class Access, class T, class Op>
__device__ __forceinline__ typename Op::Accumulator walk_tiles(const Row<T> &row, ReadableRange readable_range,
                                                               std::size_t first_tile, int tiles, const Mapping &m) {
    constexpr std::size_t elements = Access::elements;
    const std::size_t row_tiles = (row.count + elements - 1) / elements;
    const std::size_t left = row_tiles - smaller(row_tiles, first_tile);
    typename Op::Accumulator mine = Op::identity();
    if (left > 0) {
        const int count = static_cast<int>(smaller(left, static_cast<std::size_t>(tiles)));
        Access::for_each_tile(row, readable_range, first_tile, count, m, [&](int t, typename Op::Accumulator result) {
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
    return Op::order_free ? tree_over_lanes<Op>(mine, warp_lanes) : tree_over_lanes<Op>(mine, tiles);
}

template <class Access, class T, class Op>
__device__ __noinline__ typename Op::Accumulator walk_tiles_again(Row<T> row, std::size_t first_tile, int tiles,
                                                                  const Mapping &m) {
    return walk_tiles<Access, T, Op>(row, ReadableRange{}, first_tile, tiles, m);
}

// The same by an operator's quick way, which Access takes.
template <class Access, class T, class Op>
__device__ __forceinline__ typename Op::Accumulator warp_reduce(const Row<T> &row, ReadableRange readable_range,
                                                                std::size_t first_tile, int tiles, const Mapping &m) {
    const auto result = walk_tiles<Access, T, QuickOf<Op>>(row, readable_range, first_tile, tiles, m);
    if constexpr (!has_quick_way<Op>) {
        return result;
    } else if (__all_sync(whole_warp, QuickOf<Op>::is_enough(result)) != 0) {
        return scaled_form(result);
    } else {
        using Again = std::conditional_t<Access::by_vectors, SingleTiles<T, Op>, StridedAccess<T, Op>>;
        return walk_tiles_again<Again, T, Op>(row, first_tile, tiles, m);
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

} // namespace wr::cuda
