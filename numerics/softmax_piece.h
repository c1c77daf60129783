// Softmax of a piece of rows, whose states are made, merged, finished and applied: the jobs, checked and resolved, and
// what of them concerns one element.
#pragma once

#include "numerics/problem.h"
#include "numerics/softmax_rows.h"
#include "numerics/softmax_state.h"
#include "numerics/state.h"
#include "numerics/stored_elements.h"

namespace wr {

// A state that is read, and what its header has to be; nullptr: not needed.
struct ExpectedState {
    const void *bytes;
    StateHeader header;

    const void *payload() const {
        return bytes == nullptr ? nullptr : static_cast<const char *>(bytes) + state_header_bytes;
    }
};

// A state that is written.
struct WrittenState {
    void *bytes;
    StateHeader header;

    void *payload() const { return static_cast<char *>(bytes) + state_header_bytes; }
};

// Those of one job are of one type and one [outer][inner]. `check`: where what is wrong with states is told; nullptr:
// nowhere.
struct SoftmaxStateProblem {
    SoftmaxProblem softmax; // whose axis is the piece; nothing is written but the state
    std::uint64_t first;
    WrittenState state;
    std::int32_t *check;
};

struct SoftmaxMergeProblem {
    ElementType dtype;
    std::size_t outer, inner;
    SoftmaxPiece left, right; // neighbours
    ExpectedState left_state, right_state;
    WrittenState merged; // may be the left one
    std::int32_t *check;
};

struct SoftmaxFinishProblem {
    ElementType dtype, output_dtype;
    std::size_t outer, inner;
    std::uint64_t count; // of the whole row
    ExpectedState state;
    void *output; // logsumexp
    std::int32_t *check;
};

struct SoftmaxFromStateProblem {
    SoftmaxProblem softmax; // whose axis is the piece
    std::uint64_t first;
    std::uint64_t whole_count;
    ExpectedState whole;         // of [0, whole_count),
    ExpectedState before, after; // of [0, first) and of what follows the piece
    std::int32_t *check;
};

// The header of a state of softmax. `nodes` counts its runs.
WR_HD constexpr StateHeader softmax_state_header(ElementType dtype, double scale, const SoftmaxStatePlaces &places) {
    StateHeader header{};
    header.op = Operator::logsumexp;
    header.dtype = dtype;
    header.outer = places.outer;
    header.inner = places.inner;
    header.first = places.piece.first;
    header.count = places.piece.count;
    header.nodes = places.piece.runs();
    header.payload_bytes = places.bytes(dtype);
    header.scale = bit_cast<std::uint64_t>(scale);
    return sealed(header);
}

constexpr SoftmaxPiece piece_of(const SoftmaxProblem &softmax, std::uint64_t first) {
    return {first, softmax.shape.axis};
}

// Whether softmax of a piece depends on elements of its neighbours: a base block is cut on that side. Log-softmax does
// not.
constexpr bool needs_before(const SoftmaxPiece &piece, bool log) {
    return !log && piece.count != 0 && piece.first % softmax_block != 0;
}
constexpr bool needs_after(const SoftmaxPiece &piece, std::uint64_t whole_count, bool log) {
    return !log && piece.count != 0 && piece.end() % softmax_block != 0 && piece.end() != whole_count;
}

// A row among [outer][inner] of a piece, and how many of its leading elements take part, but for what a mask leaves
// out.
struct PieceRow {
    std::size_t outer, inner;
    std::size_t leading;
};

WR_HD PieceRow piece_row(const SoftmaxProblem &p, std::uint64_t first, std::size_t row) {
    const std::size_t outer = row / p.shape.inner;
    return {outer, row - outer * p.shape.inner,
            leading_elements_of_piece(p.selection, row, outer, first, p.shape.axis)};
}

// Element `at` of the piece: where it is among contiguous elements, whether it takes part, and its scaled logit, which
// is -infinity where it does not.
WR_HD std::size_t piece_index(const SoftmaxProblem &p, const PieceRow &row, std::size_t at) {
    return (row.outer * p.shape.axis + at) * p.shape.inner + row.inner;
}
WR_HD bool takes_part(const SoftmaxProblem &p, const PieceRow &row, std::size_t at) {
    return at < row.leading && (p.selection.mask == nullptr || p.selection.mask[piece_index(p, row, at)] != 0);
}
template <class Float>
WR_HD Float piece_logit(const SoftmaxProblem &p, const PieceRow &row, std::size_t at) {
    if (!takes_part(p, row, at)) {
        return -std::numeric_limits<Float>::infinity();
    }
    const std::ptrdiff_t index = static_cast<std::ptrdiff_t>(row.outer) * p.shape.outer_stride +
                                 static_cast<std::ptrdiff_t>(at) * p.shape.axis_stride +
                                 static_cast<std::ptrdiff_t>(row.inner) * p.shape.inner_stride;
    const auto size = static_cast<std::ptrdiff_t>(traits_of(p.dtype).size);
    const void *const element = static_cast<const char *>(p.input) + index * size;
    return static_cast<Float>(load_float(p.dtype, element, 0)) * static_cast<Float>(p.scale);
}

// The scaled logits of whole base blocks of which a piece has a part, and its neighbours' states the others.
template <class Float, class Sum>
struct CutBlocks {
    SoftmaxProblem p;
    SoftmaxPiece piece;
    std::uint64_t whole_count;
    SoftmaxStateView<Float, Sum> before, after;

    explicit CutBlocks(const SoftmaxFromStateProblem &problem)
        : p(problem.softmax), piece{problem.first, problem.softmax.shape.axis}, whole_count(problem.whole_count),
          before({{0, piece.first}, p.shape.outer, p.shape.inner}, problem.before.payload()),
          after({{piece.end(), whole_count - piece.end()}, p.shape.outer, p.shape.inner}, problem.after.payload()) {}

    WR_HD std::uint64_t block_end(std::uint64_t block) const {
        return smaller((block + 1) * softmax_block, whole_count);
    }
    // Element `at` of the whole row.
    WR_HD Float logit(const PieceRow &row, std::uint64_t at) const {
        if (at < piece.first) {
            return before.element(row.outer, row.inner, at);
        }
        return at < piece.end() ? piece_logit<Float>(p, row, at - piece.first)
                                : after.element(row.outer, row.inner, at);
    }
};

// The state of the row of `places`, which begins at 0 and of whose last base block, if it is cut off, the state is
// `tail`.
template <class Float, class Sum>
WR_HD RowState<Float, Sum> whole_state(const SoftmaxStateView<Float, Sum> &state, std::uint64_t runs, bool has_tail,
                                       RowState<Float, Sum> tail, std::uint64_t row) {
    RowState<Float, Sum> whole = has_tail ? tail : StateMerge<Float, Sum>::identity();
    for (std::uint64_t run = runs; run-- > 0;) {
        const RowState<Float, Sum> before = state.state(run, row);
        whole = run + 1 == runs && !has_tail ? before : combine(before, whole);
    }
    return whole;
}

} // namespace wr
