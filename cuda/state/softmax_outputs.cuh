// Softmax and log-softmax of a piece's own elements, from the state of the whole rows.
#pragma once

#include "cuda/state/softmax_merge.cuh"

namespace wr::cuda {

// The largest logit of a base block that is cut, by a warp.
template <class Float, class Sum>
__device__ __forceinline__ Float cut_block_maximum(const CutBlocks<Float, Sum> &cut, const PieceRow &row,
                                                   std::uint64_t block) {
    Float maximum = -std::numeric_limits<Float>::infinity();
    for (std::uint64_t at = block * softmax_block + static_cast<std::uint64_t>(lane_index()); at < cut.block_end(block);
         at += warp_lanes) {
        maximum = larger_with_nan(maximum, cut.logit(row, at));
    }
    return warp_maximum(larger_with_nan(maximum, maximum));
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
            totals.left_maximum = cut_block_maximum(a.cut, of, piece.first / softmax_block);
        }
        if (!p.log && piece.right() != 0) {
            totals.right_maximum = cut_block_maximum(a.cut, of, piece.end_block());
        }
        if (lane_index() == 0) {
            a.totals[row] = totals;
        }
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
    const SoftmaxProblem &p = a.cut.p;
    const std::uint64_t jobs = a.rows * a.blocks, step = std::uint64_t{gridDim.x} * softmax_state_warps;
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
    const SoftmaxProblem &p = a.cut.p;
    const std::uint64_t jobs = a.rows * a.blocks, step = std::uint64_t{gridDim.x} * softmax_state_threads;
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

// A thread for each element of base blocks that are cut.
template <class Float, class Sum>
__global__ void __launch_bounds__(softmax_state_threads)
    softmax_piece_edges(const __grid_constant__ SoftmaxFromStateArguments<Float, Sum> a) {
    take_place_on_stream();
    if (is_refused(a.verdict)) {
        return;
    }
    const SoftmaxProblem &p = a.cut.p;
    const SoftmaxPiece &piece = a.cut.piece;
    const std::uint64_t step = std::uint64_t{gridDim.x} * softmax_state_threads;
    for (std::uint64_t index = std::uint64_t{blockIdx.x} * softmax_state_threads + threadIdx.x; index < a.edge_elements;
         index += step) {
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

} // namespace wr::cuda
