// The state of softmax over a piece of a row, and how states of neighbours become one.
//
// Of the base blocks (numerics/softmax.h), which are counted from element 0 of the whole row, a piece keeps those that
// lie in it whole as row states over maximal aligned runs, as a binary counter has them, and the scaled logits of those
// that its edges cut: docs/states.md has the bytes. What is kept depends on where the piece begins and ends alone.
#pragma once

#include "numerics/operators.h"
#include "numerics/softmax.h"
#include "numerics/tree.h"

namespace wr {

// Calls use.template operator()<Float, Sum>() with the arithmetic of logits of a type.
template <class Use>
auto with_softmax_arithmetic(ElementType type, Use use) {
    switch (type) {
    case ElementType::f32:
        return use.template operator()<float, double>();
    case ElementType::f64:
        return use.template operator()<double, double>();
    default:
        return use.template operator()<float, float>();
    }
}

// An aligned run of 2^k base blocks: from block `begin` up to block `end`.
struct BlockRun {
    std::uint64_t begin, end;

    WR_HD constexpr std::uint64_t blocks() const { return end - begin; }
};

// The longest that begins with block `begin` and ends no later than `end`, which is behind it.
WR_HD constexpr BlockRun run_from(std::uint64_t begin, std::uint64_t end) {
    std::uint64_t blocks = begin == 0 ? std::uint64_t{1} << 53 : begin & (0 - begin);
    while (blocks > end - begin) {
        blocks /= 2;
    }
    return {begin, begin + blocks};
}

// How many of these follow one another from block `begin` to block `end`.
WR_HD constexpr std::uint64_t count_runs(std::uint64_t begin, std::uint64_t end) {
    std::uint64_t runs = 0;
    for (; begin < end; ++runs) {
        begin = run_from(begin, end).end;
    }
    return runs;
}

// A piece of a row: elements first .. first + count - 1, the sum of which is below 2^63.
struct SoftmaxPiece {
    std::uint64_t first, count;

    WR_HD constexpr std::uint64_t end() const { return first + count; }
    // Its whole base blocks.
    WR_HD constexpr std::uint64_t first_block() const { return divide_up(first, std::uint64_t{softmax_block}); }
    WR_HD constexpr std::uint64_t end_block() const { return larger(end() / softmax_block, first_block()); }
    WR_HD constexpr std::uint64_t runs() const { return count_runs(first_block(), end_block()); }
    // Elements before these, of a block that begins in front of the piece, and behind them.
    WR_HD constexpr std::uint64_t left() const { return smaller(first_block() * softmax_block - first, count); }
    WR_HD constexpr std::uint64_t right() const {
        return count - left() - (end_block() - first_block()) * softmax_block;
    }
    WR_HD constexpr bool has_block(std::uint64_t block) const { return block >= first_block() && block < end_block(); }
};

// How a row state is kept: its numbers' bits, each in as many bytes as the sum has. NaN is the canonical one, and a
// maximum of zero +0, so that equal states are equal bytes.
template <class Sum>
struct alignas(2 * sizeof(Sum)) KeptState {
    typename ExponentialConstants<Sum>::Bits maximum, sum;
};

// Of a scaled logit, or a maximum.
template <class Float>
WR_HD typename ExponentialConstants<Float>::Bits kept_bits(Float x) {
    using Bits = typename ExponentialConstants<Float>::Bits;
    constexpr Bits canonical = sizeof(Float) == 8 ? static_cast<Bits>(canonical_nan_f64) : Bits{canonical_nan_f32};
    return is_nan(x) ? canonical : bit_cast<Bits>(x);
}

template <class Float, class Sum>
WR_HD KeptState<Sum> kept(const RowState<Float, Sum> &state) {
    using Bits = typename ExponentialConstants<Sum>::Bits;
    return {static_cast<Bits>(kept_bits(state.maximum + Float(0))), bit_cast<Bits>(state.sum)};
}

template <class Float, class Sum>
WR_HD RowState<Float, Sum> state_from(const KeptState<Sum> &kept) {
    using Bits = typename ExponentialConstants<Float>::Bits;
    return {bit_cast<Float>(static_cast<Bits>(kept.maximum)), bit_cast<Sum>(kept.sum)};
}

// Bytes of the parts of a state of a type's rows.
WR_HD constexpr std::size_t kept_state_bytes(ElementType type) {
    return type == ElementType::f32 || type == ElementType::f64 ? 16 : 8;
}
WR_HD constexpr std::size_t kept_element_bytes(ElementType type) { return type == ElementType::f64 ? 8 : 4; }

// Where the state of a piece of [outer][count][inner] has what: row states [run][outer][inner], then logits as the
// array had them, [outer][left][inner] and [outer][right][inner].
struct SoftmaxStatePlaces {
    SoftmaxPiece piece;
    std::uint64_t outer, inner;

    WR_HD constexpr std::uint64_t rows() const { return outer * inner; }
    WR_HD constexpr std::uint64_t states() const { return piece.runs() * rows(); }
    WR_HD constexpr std::uint64_t elements() const { return (piece.left() + piece.right()) * rows(); }
    WR_HD constexpr std::uint64_t bytes(ElementType type) const {
        return states() * kept_state_bytes(type) + elements() * kept_element_bytes(type);
    }
    WR_HD constexpr std::uint64_t state(std::uint64_t run, std::uint64_t row) const { return run * rows() + row; }
    // Among the kept logits, of element `at` of the whole row.
    WR_HD constexpr std::uint64_t element(std::uint64_t o, std::uint64_t i, std::uint64_t at) const {
        const std::uint64_t left = piece.left(), right = piece.right();
        return at - piece.first < left ? (o * left + (at - piece.first)) * inner + i
                                       : left * rows() + (o * right + (at - (piece.end() - right))) * inner + i;
    }
};

// A state of which the places are known.
template <class Float, class Sum>
struct SoftmaxStateView {
    using Bits = typename ExponentialConstants<Float>::Bits;
    SoftmaxStatePlaces places;
    const KeptState<Sum> *states;
    const Bits *elements;

    WR_HD SoftmaxStateView(const SoftmaxStatePlaces &of, const void *payload)
        : places(of), states(static_cast<const KeptState<Sum> *>(payload)),
          elements(payload == nullptr ? nullptr : reinterpret_cast<const Bits *>(states + of.states())) {}

    WR_HD RowState<Float, Sum> state(std::uint64_t run, std::uint64_t row) const {
        return state_from<Float, Sum>(states[places.state(run, row)]);
    }
    WR_HD Float element(std::uint64_t o, std::uint64_t i, std::uint64_t at) const { return *element_at(o, i, at); }
    // Where it is; those behind it that the same edge has are places.inner apart.
    WR_HD const Float *element_at(std::uint64_t o, std::uint64_t i, std::uint64_t at) const {
        return reinterpret_cast<const Float *>(elements + places.element(o, i, at));
    }
};

// What two neighbours have at their seam: the base block that both have a part of, where they have all of it together,
// and the runs that become one with it or with one another. The merged state has the left one's runs before these, the
// one that is made of them, and the right one's behind them.
struct SoftmaxSeam {
    std::uint64_t left_begin, right_end; // of the whole blocks of either side
    std::uint64_t left_runs;             // that stay
    std::uint64_t right_runs;            // that do not
    BlockRun run;                        // empty: none is made
    bool cut_block;                      // the run begins as the block that was cut

    // Which neighbour the run is to be combined with next.
    enum class Side { none, left, right };
    WR_HD constexpr Side next() const {
        const std::uint64_t blocks = run.blocks();
        if (blocks == 0) {
            return Side::none;
        }
        if ((run.begin / blocks) % 2 != 0) {
            return run.begin >= left_begin + blocks ? Side::left : Side::none;
        }
        return right_end >= run.end + blocks ? Side::right : Side::none;
    }
    WR_HD constexpr void combine(Side side) {
        const std::uint64_t blocks = run.blocks();
        run.begin -= side == Side::left ? blocks : 0;
        run.end += side == Side::right ? blocks : 0;
        left_runs -= side == Side::left ? 1 : 0;
        right_runs += side == Side::right ? 1 : 0;
    }
};

// Before the run has been combined with any other.
WR_HD constexpr SoftmaxSeam seam_of(const SoftmaxPiece &left, const SoftmaxPiece &right) {
    const std::uint64_t at = left.end() / softmax_block;
    const bool cut = left.end() % softmax_block != 0;
    const bool whole = cut && SoftmaxPiece{left.first, left.count + right.count}.has_block(at);
    SoftmaxSeam seam{left.first_block(), right.end_block(), left.runs(), 0, {at, at + (whole ? 1 : 0)}, whole};
    if (!cut && at > left.first_block() && at < right.end_block()) {
        // Two runs of one length, of which the first is a left child.
        const std::uint64_t blocks = run_from(at, right.end_block()).blocks();
        const bool siblings = at / blocks % 2 == 1 && at >= left.first_block() + blocks;
        if (siblings) {
            seam.run = {at, at + blocks};
            seam.right_runs = 1;
        }
    }
    return seam;
}

// The state of a base block, or of its beginning, of which load(i) gives the scaled logits.
template <class Float, class Sum, class Load>
WR_HD RowState<Float, Sum> state_of_elements(std::uint64_t count, Load load) {
    Float maximum = -std::numeric_limits<Float>::infinity();
    for (std::uint64_t i = 0; i < count; ++i) {
        maximum = larger_or_nan(maximum, load(i));
    }
    const Frame<Float> frame = frame_of(maximum);
    TreeCounter<FloatSum<Sum>, 11> counter;
    for (std::uint64_t i = 0; i < count; ++i) {
        counter.push(static_cast<Sum>(exponential_in(frame, load(i))));
    }
    const Sum sum = counter.result();
    return {maximum, count == 0 ? Sum(0) : settle_block_sum(maximum, sum)};
}

// What is known of a row once its whole state is.
template <class Float, class Sum>
struct RowOutputs {
    RowState<Float, Sum> total;
    RowKind kind;
    LogPieces<Float> pieces; // for log-softmax of an ordinary row
    bool log, empty_row_zero, both_pieces;

    WR_HD RowOutputs(const RowState<Float, Sum> &row, bool logarithm, bool zero, ElementType output_type)
        : total(row), kind(row_kind(row.maximum)), pieces{0, 0}, log(logarithm), empty_row_zero(zero),
          both_pieces(output_type == ElementType::f32 || output_type == ElementType::f64) {
        if (log && kind == RowKind::ordinary) {
            pieces = row_logsumexp(total.maximum, total.sum);
        }
    }

    // Of an element x, which is -infinity where it takes no part, of a base block of this maximum.
    WR_HD Float of(Float x, bool takes_part, Float block_maximum) const {
        if (kind != RowKind::ordinary) {
            return takes_part ? special_output<Float>(kind, log, empty_row_zero)
                              : left_out_output<Float>(kind, log, empty_row_zero);
        }
        if (log) {
            return log_softmax_output(x, pieces);
        }
        const Float e = exponential_in(frame_of(block_maximum), x);
        const BlockFactor<Float> factor = block_factor(block_maximum, total.maximum, total.sum);
        return both_pieces ? softmax_output(e, factor) : softmax_narrow_output(e, factor);
    }
};

} // namespace wr
