// Softmax and log-softmax of a piece's own elements, from the state of the whole rows.
#pragma once

#include "cuda/state/softmax_merge.cuh"

namespace wr::cuda {

// What a piece has of one of its base blocks, by a warp: which elements, and, where an edge cuts it, the block's
// largest logit.
template <class Float, class Sum>
struct PieceBlock {
    const CutBlocks<Float, Sum> &cut;
    PieceRow row;
    std::uint64_t begin, end;

    // Number 0: what the left edge cuts, then `whole` blocks, then what the right edge cuts.
    __device__ __forceinline__ PieceBlock(const CutBlocks<Float, Sum> &of, std::uint64_t row_number,
                                          std::uint64_t whole, std::uint64_t number)
        : cut(of), row(piece_row_of(of.p, of.piece.first, row_number)), begin(0), end(of.piece.left()) {
        if (number > whole) {
            begin = of.piece.count - of.piece.right();
            end = number == whole + 1 ? of.piece.count : begin;
        } else if (number != 0) {
            begin = end + (number - 1) * softmax_block;
            end = begin + softmax_block;
        }
    }

    __device__ __forceinline__ bool is_empty() const { return begin == end; }
    __device__ __forceinline__ bool is_whole() const { return end - begin == softmax_block; }

    __device__ __forceinline__ Float maximum_with_neighbours(Float own) const {
        const SoftmaxPiece &piece = cut.piece;
        const std::uint64_t block = (piece.first + begin) / softmax_block, first = block * softmax_block;
        const std::uint64_t before = piece.first - smaller(first, piece.first);
        const std::uint64_t after = cut.block_end(block) - smaller(cut.block_end(block), piece.end());
        const std::uint64_t stride = cut.p.shape.inner;
        const Float *const left = before == 0 ? nullptr : cut.before.element_at(row.outer, row.inner, first);
        const Float *const right = after == 0 ? nullptr : cut.after.element_at(row.outer, row.inner, piece.end());
        Float x[strided::lane_elements];
        KeptLogits<Float>{left, right - before * stride, before, before + after, stride}.load(x);
        return larger_with_nan(own, tile_maximum(x));
    }
    // Of a column, one element after the other.
    __device__ __forceinline__ Float maximum() const {
        Float own = -std::numeric_limits<Float>::infinity();
        for (std::uint64_t at = begin + static_cast<std::uint64_t>(lane_index()); at < end; at += warp_lanes) {
            own = larger_with_nan(own, piece_logit<Float>(cut.p, row, at));
        }
        return maximum_with_neighbours(warp_maximum(larger_with_nan(own, own)));
    }
};

// Of a row, from its logits to its outputs.
template <class Float, class Sum>
struct PieceTile {
    strided::StridedRow place;
    strided::StridedTile<Float, Sum> tile;
    Float maximum;

    __device__ __forceinline__ void load(const PieceBlock<Float, Sum> &block, std::uint64_t number) {
        place = strided_row_before(block.cut.p, block.row, number, block.end);
        const bool alone = block.cut.p.log || block.is_whole();
        maximum = tile.load(block.cut.p, place, block.begin,
                            [&](Float own) { return alone ? own : block.maximum_with_neighbours(own); })
                      .maximum;
    }
};

// What a whole row comes to, by a warp; in every lane.
template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> total_of_row(const SoftmaxFromStateArguments<Float, Sum> &a,
                                                             std::uint64_t row) {
    return a.whole.places.piece.right() != 0
               ? finished_row(a.whole, a.runs, row)
               : whole_state(a.whole, a.runs, false, StateMerge<Float, Sum>::identity(), row);
}

// A thread a row where runs are all that there is. Else a block of threads: a warp for what the whole row comes to, and
// one for the base block that either edge cuts. Its outputs are written here, for they need nothing more; those of
// columns beside others.
template <class Float, class Sum>
__global__ void __launch_bounds__(softmax_totals_threads, sizeof(Float) == 4 ? 4 : 2)
    softmax_piece_totals(const __grid_constant__ SoftmaxFromStateArguments<Float, Sum> a) {
    __shared__ RowState<Float, Sum> whole;
    __shared__ Status verdict;
    pdl_wait_and_release();
    if (judge_by_block(a.judged, verdict) != Status::success) {
        return;
    }
    if (a.totals_by_threads) {
        for_each_whole_row(a.whole, a.runs, a.rows,
                           [&](std::uint64_t row, const RowState<Float, Sum> &total) { a.totals[row].whole = total; });
        return;
    }
    const SoftmaxProblem &p = a.cut.p;
    const bool of_rows = p.shape.inner == 1, of_total = warp_index() == 0;
    const auto number = static_cast<std::uint64_t>(warp_index() - 1);
    for (std::uint64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
        PieceTile<Float, Sum> tile;
        const PieceBlock<Float, Sum> block(a.cut, row, 0, number);
        const bool has_block = !of_total && !block.is_empty();
        if (of_total) {
            const RowState<Float, Sum> total = total_of_row(a, row);
            if (lane_index() == 0) {
                whole = total;
                a.totals[row].whole = total;
            }
        } else if (has_block && of_rows) {
            tile.load(block, row);
        } else if (has_block && !p.log) {
            const Float maximum = block.maximum();
            if (lane_index() == 0) {
                (number == 0 ? a.totals[row].left_maximum : a.totals[row].right_maximum) = maximum;
            }
        }
        __syncthreads();
        if (has_block && of_rows) {
            tile.tile.write(p, tile.place, block.begin, tile.maximum, whole);
        }
        __syncthreads();
    }
}

// The elements of columns' base blocks that are cut, by the last blocks of threads of a grid.
template <class Float, class Sum>
__device__ __forceinline__ void write_edges(const SoftmaxFromStateArguments<Float, Sum> &a) {
    const SoftmaxProblem &p = a.cut.p;
    const SoftmaxPiece &piece = a.cut.piece;
    const std::uint64_t own = blockIdx.x - (gridDim.x - a.edge_blocks);
    const std::uint64_t step = std::uint64_t{a.edge_blocks} * softmax_state_threads;
    for (std::uint64_t index = own * softmax_state_threads + threadIdx.x; index < a.edge_elements; index += step) {
        const EdgeElement of(piece, a.rows, p.shape.inner, index);
        const std::uint64_t number = of.outer * p.shape.inner + of.inner;
        const PieceRow row = piece_row_of(p, piece.first, number);
        const PieceTotals<Float, Sum> &totals = a.totals[number];
        const RowOutputs<Float, Sum> outputs(totals.whole, p.log, p.empty_row_zero, p.output_dtype);
        Float maximum = 0; // logarithms do without, and none is written for them
        if (!p.log) {
            maximum = of.at < piece.left() ? totals.left_maximum : totals.right_maximum;
        }
        const Float y = outputs.of(piece_logit<Float>(p, row, of.at), takes_part(p, row, of.at), maximum);
        store_float(y, p.output_dtype, p.output, piece_index(p, row, of.at));
    }
}

// A warp for each base block of each row.
template <class Float, class Sum>
__global__ void __launch_bounds__(softmax_state_threads, strided::strided_resident_blocks<Float>)
    softmax_piece_rows(const __grid_constant__ SoftmaxFromStateArguments<Float, Sum> a) {
    pdl_wait_and_release();
    if (*a.judged.verdict != 0) {
        return;
    }
    const SoftmaxProblem &p = a.cut.p;
    const std::uint64_t jobs = a.rows * a.blocks, step = std::uint64_t{gridDim.x} * softmax_state_warps;
    for (std::uint64_t job = std::uint64_t{blockIdx.x} * softmax_state_warps + warp_index(); job < jobs; job += step) {
        const JobPlace at(job, a.blocks);
        const strided::StridedRow place = strided_row(p, piece_row_of(p, a.cut.piece.first, at.outer), at.outer);
        const std::uint64_t begin = a.cut.piece.left() + at.inner * std::uint64_t{softmax_block};
        strided::StridedTile<Float, Sum> tile;
        const Float maximum = tile.load(p, place, strided::NoRow(), begin).maximum;
        tile.write(p, place, begin, maximum, a.totals[at.outer].whole);
    }
}

// A thread for each base block of each column.
template <class Float, class Sum>
__global__ void __launch_bounds__(softmax_state_threads, strided::walking_resident_blocks<Float>)
    softmax_piece_columns(const __grid_constant__ SoftmaxFromStateArguments<Float, Sum> a) {
    pdl_wait_and_release();
    if (*a.judged.verdict != 0) {
        return;
    }
    const unsigned blocks = gridDim.x - a.edge_blocks;
    if (blockIdx.x >= blocks) {
        write_edges(a);
        return;
    }
    const SoftmaxProblem &p = a.cut.p;
    const std::uint64_t jobs = a.rows * a.blocks, step = std::uint64_t{blocks} * softmax_state_threads;
    for (std::uint64_t job = std::uint64_t{blockIdx.x} * softmax_state_threads + threadIdx.x; job < jobs; job += step) {
        const strided::LoopedTile own(p.shape, a.blocks, job);
        const PieceRow row = piece_row_of(p, a.cut.piece.first, own.row);
        const strided::ColumnRun run =
            column_block(p, row, own.row, a.cut.piece.left() + own.block * std::uint64_t{softmax_block});
        strided::LoopedLogits<Float, Sum> logits(p, run);
        const Float maximum = p.log ? -std::numeric_limits<Float>::infinity() : logits.maximum();
        logits.write({maximum, Sum(0)}, a.totals[own.row].whole);
    }
}

} // namespace wr::cuda
