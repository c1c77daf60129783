// Softmax and log-softmax of a piece's own elements, from the state of the whole rows.
#pragma once

#include "cuda/state/softmax_merge.cuh"

namespace wr::cuda {

// The largest of logits that a state keeps, by a warp; -infinity of none.
template <class Float>
__device__ __forceinline__ Float maximum_of_kept(const KeptLogits<Float> &logits) {
    if (logits.count == 0) {
        return -std::numeric_limits<Float>::infinity();
    }
    Float x[strided::lane_elements];
    logits.load(x);
    return tile_maximum(x);
}

// The largest of the piece's own from element `begin` to `end`, of one base block.
template <class Float, class Sum>
__device__ __forceinline__ Float maximum_of_own(const SoftmaxProblem &p, const PieceRow &row, std::uint64_t number,
                                                std::uint64_t begin, std::uint64_t end) {
    if (p.shape.inner == 1) {
        strided::StridedRow place = strided_row(p, row, number);
        place.count = end;
        place.taken = smaller<std::size_t>(place.taken, end);
        strided::StridedTile<Float, Sum> tile;
        return tile.load(p, place, begin).maximum;
    }
    Float maximum = -std::numeric_limits<Float>::infinity();
    for (std::uint64_t at = begin + static_cast<std::uint64_t>(lane_index()); at < end; at += warp_lanes) {
        maximum = larger_with_nan(maximum, piece_logit<Float>(p, row, at));
    }
    return warp_maximum(larger_with_nan(maximum, maximum));
}

// The largest logit of a base block of which the piece's elements from `begin` to `end` are a part, by a warp.
template <class Float, class Sum>
__device__ __forceinline__ Float cut_block_maximum(const CutBlocks<Float, Sum> &cut, const PieceRow &row,
                                                   std::uint64_t number, std::uint64_t begin, std::uint64_t end) {
    const SoftmaxPiece &piece = cut.piece;
    const std::uint64_t block = (piece.first + begin) / softmax_block, first = block * softmax_block;
    const std::uint64_t before = piece.first - smaller(first, piece.first);
    const std::uint64_t after = cut.block_end(block) - smaller(cut.block_end(block), piece.end());
    const Float own = maximum_of_own<Float, Sum>(cut.p, row, number, begin, end);
    const Float left = maximum_of_kept(kept_logits(cut.before, row.outer, row.inner, first, before));
    const Float right = maximum_of_kept(kept_logits(cut.after, row.outer, row.inner, piece.end(), after));
    return larger_with_nan(own, larger_with_nan(left, right));
}

// A warp a row.
template <class Float, class Sum>
__global__ void __launch_bounds__(softmax_state_threads)
    softmax_piece_totals(const __grid_constant__ SoftmaxFromStateArguments<Float, Sum> a) {
    take_place_on_stream();
    if (is_refused(a.verdict)) {
        return;
    }
    const SoftmaxProblem &p = a.cut.p;
    const SoftmaxPiece &piece = a.cut.piece;
    const std::uint64_t step = std::uint64_t{gridDim.x} * softmax_state_warps;
    for (std::uint64_t row = std::uint64_t{blockIdx.x} * softmax_state_warps + warp_index(); row < a.rows;
         row += step) {
        PieceTotals<Float, Sum> totals{finished_row(a.whole, a.runs, row), Float(0), Float(0)};
        const PieceRow of = piece_row_of(p, piece.first, row);
        if (!p.log && piece.left() != 0) {
            totals.left_maximum = cut_block_maximum(a.cut, of, row, 0, piece.left());
        }
        if (!p.log && piece.right() != 0) {
            totals.right_maximum = cut_block_maximum(a.cut, of, row, piece.count - piece.right(), piece.count);
        }
        if (lane_index() == 0) {
            a.totals[row] = totals;
        }
    }
}

// The elements of base blocks that are cut, by the last blocks of threads of a grid.
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
        const Float y = outputs.of(piece_logit<Float>(p, row, of.at), takes_part(p, row, of.at),
                                   of.at < piece.left() ? totals.left_maximum : totals.right_maximum);
        store_float(y, p.output_dtype, p.output, piece_index(p, row, of.at));
    }
}

// A warp for each base block of each row.
template <class Float, class Sum>
__global__ void __launch_bounds__(softmax_state_threads, strided::strided_resident_blocks<Float>)
    softmax_piece_rows(const __grid_constant__ SoftmaxFromStateArguments<Float, Sum> a) {
    take_place_on_stream();
    if (is_refused(a.verdict)) {
        return;
    }
    const unsigned blocks = gridDim.x - a.edge_blocks;
    if (blockIdx.x >= blocks) {
        write_edges(a);
        return;
    }
    const SoftmaxProblem &p = a.cut.p;
    const std::uint64_t jobs = a.rows * a.blocks, step = std::uint64_t{blocks} * softmax_state_warps;
    for (std::uint64_t job = std::uint64_t{blockIdx.x} * softmax_state_warps + warp_index(); job < jobs; job += step) {
        const JobPlace at(job, a.blocks);
        const strided::StridedRow place = strided_row(p, piece_row_of(p, a.cut.piece.first, at.outer), at.outer);
        const std::uint64_t begin = a.cut.piece.left() + at.inner * std::uint64_t{softmax_block};
        strided::StridedTile<Float, Sum> tile;
        const Float maximum = tile.load(p, place, begin).maximum;
        tile.write(p, place, begin, maximum, a.totals[at.outer].whole);
    }
}

// A thread for each base block of each column.
template <class Float, class Sum>
__global__ void __launch_bounds__(softmax_state_threads, strided::walking_resident_blocks<Float>)
    softmax_piece_columns(const __grid_constant__ SoftmaxFromStateArguments<Float, Sum> a) {
    take_place_on_stream();
    if (is_refused(a.verdict)) {
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
        strided::WalkedLogits<Float> logits(p, run);
        Float maximum = -std::numeric_limits<Float>::infinity();
#pragma unroll 1
        for (int at = 0; !p.log && at < run.count; at += strided::walk_step) {
            logits.load(at);
#pragma unroll
            for (int i = 0; i < strided::walk_step; ++i) {
                maximum = larger_with_nan(maximum, logits.x[i]);
            }
        }
        strided::write_walked(logits, maximum, a.totals[own.row].whole);
    }
}

} // namespace wr::cuda
