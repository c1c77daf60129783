// The agents of rows of any types and strides: rows in the registers of a block's or a cluster's warps where they fit,
// read twice where they do not.
#pragma once

#include "cuda/rowwise/row_op.cuh"
#include "cuda/rowwise/row_tiles.cuh"
#include "cuda/rowwise/strided_access.cuh"

namespace wr::cuda::strided {

template <class Op>
using ArgumentsOf = StridedArguments<typename Op::Problem, typename Op::Stored>;

// The tree over what a block's warps bring, in every lane of all of them.
template <class Op>
__device__ __forceinline__ typename Op::Partial over_warps(typename Op::Partial own,
                                                           typename Op::Partial (&of_warps)[strided_block_warps]) {
    if (lane_index() == 0) {
        of_warps[warp_index()] = own;
    }
    __syncthreads();
    typename Op::Partial mine = Op::Combine::identity();
    if (lane_index() < static_cast<int>(blockDim.x) / warp_lanes) {
        mine = of_warps[lane_index()];
    }
    mine = Op::over_lanes(mine);
    __syncthreads();
    return mine;
}

// Whole rows. A row of no more tiles than warps stays in registers; longer ones are read twice.
template <RowOp Op>
__global__ void __launch_bounds__(strided_block_threads, strided_resident_blocks<typename Op::Float>)
    strided_rows(const __grid_constant__ ArgumentsOf<Op> a) {
    using Partial = typename Op::Partial;
    __shared__ Partial of_warps[strided_block_warps];
    const auto &p = a.problem;
    for_each_row(p.shape, p.selection, large_rows_for<typename Op::Float>(a.longer),
                 [&](const StridedRow &place, int warps, int warp) {
                     const typename Op::Row row = Op::row(p, place.row);
                     const std::size_t step = static_cast<std::size_t>(warps) * softmax_block;
                     const std::size_t own_begin = static_cast<std::size_t>(warp) * softmax_block;
                     typename Op::Tile tile;
                     Partial own, total;
                     TreeCounter<typename Op::Combine, 53> counter;
                     for_each_step(
                         place.count, step, Op::writes(p),
                         [&](std::size_t done) { own = tile.load(p, place, row, done + own_begin); },
                         [&](bool last) {
                             total = warps == 1 ? own : over_warps<Op>(own, of_warps);
                             if (place.count > step) {
                                 counter.push(total);
                                 total = last ? counter.result() : total;
                             }
                             if (last && lane_index() == 0 && warp == 0) {
                                 Op::finish(p, place.row, total);
                             }
                         },
                         [&](std::size_t done) { tile.write(p, place, row, done + own_begin, own, total); });
                 });
}

// Rows of which each tile has a warp: blockDim.y rows a block, or a row by a cluster of a.cluster_blocks blocks.
template <RowOp Op>
__global__ void __maxnreg__(Op::whole_row_registers) strided_whole_rows(const __grid_constant__ ArgumentsOf<Op> a) {
    __shared__ typename Op::RowTotals totals;
    totals.prepare(a.cluster_blocks);
    pdl_wait_and_release();
    const auto &p = a.problem;
    const RowTile of(a.cluster_blocks);
    const bool there = of.row < p.shape.outer;
    const StridedRow place = there ? row_place(p.shape, p.selection, of.row) : StridedRow{};
    const typename Op::Row row = Op::row(p, place.row);
    const auto begin = static_cast<std::size_t>(of.first);
    typename Op::Tile tile;
    const typename Op::Partial own = tile.load(p, place, row, begin);
    const typename Op::Partial total = totals.total(a.cluster_blocks, own);
    if (of.block == 0 && lane_index() == 0 && there) {
        Op::finish(p, of.row, total);
    }
    if (Op::writes(p)) {
        tile.write(p, place, row, begin, own, total);
    }
}

// Pieces of strided_block_warps * a.tiles_a_warp tiles of long rows: what they come to or, once the rows' totals are
// there, their outputs. One kernel for both: most of it is what a load takes.
template <RowOp Op>
__global__ void __launch_bounds__(strided_block_threads, strided_resident_blocks<typename Op::Float>)
    strided_splits(const __grid_constant__ ArgumentsOf<Op> a) {
    using Partial = typename Op::Partial;
    __shared__ Partial of_warps[strided_block_warps];
    const auto &p = a.problem;
    const std::size_t jobs = p.shape.outer * a.splits;
    for (std::size_t job = blockIdx.x; job < jobs; job += gridDim.x) {
        const StridedRow place = row_place(p.shape, p.selection, job / a.splits);
        const typename Op::Row row = Op::row(p, place.row);
        const std::size_t first = (job % a.splits * strided_block_warps + static_cast<std::size_t>(warp_index())) *
                                  static_cast<std::size_t>(a.tiles_a_warp);
        Partial mine = Op::Combine::identity();
#pragma unroll 1
        for (int b = 0; b < a.tiles_a_warp; ++b) {
            const std::size_t begin = (first + static_cast<std::size_t>(b)) * softmax_block;
            typename Op::Tile tile;
            const Partial own = tile.load(p, place, row, begin);
            if (a.applies) {
                tile.write(p, place, row, begin, own, Op::loaded(a.totals[place.row]));
            } else if (lane_index() == b) {
                mine = own;
            }
        }
        if (!a.applies) {
            const Partial of_split = over_warps<Op>(Op::over_lanes(mine), of_warps);
            if (threadIdx.x == 0) {
                a.states[job] = Op::stored(of_split);
            }
        }
    }
}

// The totals of rows from what their splits come to.
template <RowOp Op>
__global__ void __launch_bounds__(strided_block_threads) strided_totals(const __grid_constant__ ArgumentsOf<Op> a) {
    pdl_wait();
    const std::size_t rows = a.problem.shape.outer * a.problem.shape.inner;
    for_each_total(rows, a.splits, [&](std::size_t row, std::size_t begin, std::size_t end, int lanes, bool first) {
        const typename Op::Partial total = Op::total(a.states + row * a.splits, a.splits, begin, end, lanes);
        if (first) {
            a.totals[row] = Op::stored(total);
            Op::finish(a.problem, row, total);
        }
    });
}

// nullptr: none of this arithmetic.
template <RowOp Op>
const void *whole_rows_kernel() {
    if constexpr (sizeof(typename Op::Float) == sizeof(float)) {
        return address_of(strided_whole_rows<Op>);
    }
    return nullptr;
}

} // namespace wr::cuda::strided
