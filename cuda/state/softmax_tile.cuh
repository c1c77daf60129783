// Base blocks of a piece of rows and columns: where their elements are, and the state of one whose logits a warp holds.
#pragma once

#include "cuda/softmax/strided/columns.cuh"
#include "cuda/state/softmax_arguments.h"

namespace wr::cuda {

// Number `index` of `inner` innermost; of most jobs in 32 bits, which take a tenth of the time.
struct JobPlace {
    std::uint64_t outer, inner;

    __device__ __forceinline__ JobPlace(std::uint64_t index, std::uint64_t inner_size) {
        if (((index | inner_size) >> 32) == 0) {
            outer = static_cast<std::uint32_t>(index) / static_cast<std::uint32_t>(inner_size);
        } else {
            outer = index / inner_size;
        }
        inner = index - outer * inner_size;
    }
};

__device__ __forceinline__ PieceRow piece_row_of(const SoftmaxProblem &p, std::uint64_t first, std::uint64_t row) {
    const JobPlace at(row, p.shape.inner);
    return {at.outer, at.inner, leading_elements_of_piece(p.selection, row, at.outer, first, p.shape.axis)};
}

__device__ __forceinline__ strided::StridedRow strided_row(const SoftmaxProblem &p, const PieceRow &of,
                                                           std::uint64_t row) {
    return {row, of.outer, of.inner, piece_index(p, of, 0), p.shape.inner, p.shape.axis, of.leading};
}

// The part of a row that ends before the piece's element `end`.
__device__ __forceinline__ strided::StridedRow strided_row_before(const SoftmaxProblem &p, const PieceRow &of,
                                                                  std::uint64_t row, std::uint64_t end) {
    strided::StridedRow place = strided_row(p, of, row);
    place.count = end;
    place.taken = smaller<std::size_t>(place.taken, end);
    return place;
}

// Of a column, the run that is one of its base blocks, which begins with the piece's element `begin`.
__device__ __forceinline__ strided::ColumnRun column_block(const SoftmaxProblem &p, const PieceRow &of,
                                                           std::uint64_t row, std::uint64_t begin) {
    strided::ColumnRun run(p.shape, Selection{}, row, begin, softmax_block);
    run.leading = static_cast<int>(smaller(of.leading - smaller(of.leading, begin), softmax_block));
    return run;
}

// Element number `index` of those that both edges of all rows have, in the order in which they are kept.
struct EdgeElement {
    std::uint64_t outer, inner, at; // in the piece

    __device__ __forceinline__ EdgeElement(const SoftmaxPiece &piece, std::uint64_t rows, std::uint64_t inner_size,
                                           std::uint64_t index) {
        const std::uint64_t left = piece.left(), right = piece.right(), before = left * rows;
        const bool is_left = index < before;
        const JobPlace place(is_left ? index : index - before, inner_size);
        const JobPlace along(place.outer, is_left ? left : right);
        outer = along.outer;
        inner = place.inner;
        at = along.inner + (is_left ? 0 : piece.count - right);
    }
};

// The largest of a warp's logits, in every lane.
template <class Float>
__device__ __forceinline__ Float tile_maximum(const Float (&x)[strided::lane_elements]) {
    Float maximum = x[0];
#pragma unroll
    for (int i = 1; i < strided::lane_elements; ++i) {
        maximum = larger_with_nan(maximum, x[i]);
    }
    return warp_maximum(larger_with_nan(maximum, maximum));
}

// The state of a base block, element i of lane l at position 32 i + l, -infinity behind the last.
template <class Float, class Sum>
__device__ __noinline__ RowState<Float, Sum> tile_state_of(const Float *logits) {
    Float x[strided::lane_elements];
#pragma unroll
    for (int i = 0; i < strided::lane_elements; ++i) {
        x[i] = logits[i];
    }
    const Float maximum = tile_maximum(x);
    const Frame<Float> frame = frame_of(maximum);
    constexpr int half = strided::lane_elements / 2;
    Sum sums[half];
#pragma unroll
    for (int i = 0; i < half; ++i) {
        sums[i] = exchange_pair<FloatSum<Sum>, 0>(static_cast<Sum>(exponential_in(frame, x[i])),
                                                  static_cast<Sum>(exponential_in(frame, x[i + half])));
    }
    return {maximum, settle_block_sum(maximum, warp_tree<FloatSum<Sum>, 1>(sums))};
}

// Logits that two neighbours keep, `stride` apart: the first `split` from one, those behind them from the other.
template <class Float>
struct KeptLogits {
    const Float *first, *second; // either as if it had the first element
    std::uint64_t split, count, stride;

    // All are on their way at the same time; -infinity behind the last.
    __device__ __forceinline__ void load(Float (&x)[strided::lane_elements]) const {
#pragma unroll
        for (int i = 0; i < strided::lane_elements; ++i) {
            const auto k = static_cast<std::uint64_t>(i * warp_lanes + lane_index());
            const Float *const from = k < split ? first : second;
            x[i] = k < count ? from[k * stride] : -std::numeric_limits<Float>::infinity();
        }
    }
};

// Of one state, from element `at` on.
template <class Float, class Sum>
__device__ __forceinline__ KeptLogits<Float> kept_logits(const SoftmaxStateView<Float, Sum> &state, std::uint64_t o,
                                                         std::uint64_t i, std::uint64_t at, std::uint64_t count) {
    const Float *const from = count == 0 ? nullptr : state.element_at(o, i, at);
    return {from, from, count, count, state.places.inner};
}

template <class Float, class Sum>
__device__ __forceinline__ RowState<Float, Sum> state_of_kept(const KeptLogits<Float> &logits) {
    Float x[strided::lane_elements];
    logits.load(x);
    return tile_state_of<Float, Sum>(x);
}

} // namespace wr::cuda
