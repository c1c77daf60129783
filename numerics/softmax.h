// Softmax as a function of a row alone, whoever computes which part of it.
//
// A row is cut into base blocks of 1024 elements. A block with maximum m has a frame (N = rint(m log2 e)) in which its
// elements are e_i = exp(x_i) 2^-N and its sum s_b their natural tree. The row's total is the natural tree, over the
// blocks, of s_b scaled by the exact power of two to the frame of the row's maximum; an output is e_i times one factor
// of its block. docs/numerics.md has the whole definition and its error bounds.
#pragma once

#include "numerics/exponential.h"
#include "numerics/logarithm.h"

namespace wr {

inline constexpr std::size_t softmax_block = 1024;

// Above this magnitude a block's maximum is subtracted, which is exact there, before the exponential.
inline constexpr double large_logit = 0x1p20;

// The arithmetic of each input type: its exponentials are Float, their sums Sum.
template <class Element>
struct SoftmaxArithmetic {
    using Float = float;
    using Sum = float;
};
template <>
struct SoftmaxArithmetic<float> {
    using Float = float;
    using Sum = double;
};
template <>
struct SoftmaxArithmetic<double> {
    using Float = double;
    using Sum = double;
};

template <class Float>
WR_HD bool is_ordinary(Float m) {
    return m > Float(-large_logit) && m < Float(large_logit);
}

template <class Float>
WR_HD bool is_large(Float m) {
    return !is_ordinary(m) && m - m == Float(0);
}

// How a block with a given maximum forms its exponentials.
template <class Float>
struct Frame {
    Float magic_less_n; // the rounding constant less N
    Float shift;        // subtracted first; not 0 only in blocks of large logits
    Float lowest;       // what is not above it, after the shift, counts as 0
};

// The maximum is NaN where the block holds a NaN. A row with NaN, +infinity or nothing but -infinity has no frame of
// its own; its exponentials are all 0 and its outputs are decided by the row's kind.
template <class Float>
WR_HD Frame<Float> frame_of(Float maximum) {
    using C = ExponentialConstants<Float>;
    if (is_ordinary(maximum)) {
        const Float n = static_cast<Float>(nearest_exponent(maximum));
        return {C::magic - n, Float(0), maximum - C::reach};
    }
    if (is_large(maximum)) {
        return {C::magic, maximum, -C::reach};
    }
    return {C::magic, Float(0), std::numeric_limits<Float>::infinity()};
}

template <class Float>
WR_HD Float exponential_in(const Frame<Float> &frame, Float x) {
    const Float shifted = x - frame.shift;
    const Float e = scaled_exponential(shifted, frame.magic_less_n);
    return shifted > frame.lowest ? e : Float(0);
}

// e^maximum in units of 2^N: what the sum of a block of large logits, formed relative to its maximum, is multiplied by.
template <class Sum, class Float>
WR_HD Sum large_factor(Float maximum) {
    return static_cast<Sum>(large_exponential(static_cast<double>(maximum)).factor);
}

// A block's sum as it enters the row's total.
template <class Sum, class Float>
WR_HD Sum settle_block_sum(Float maximum, Sum sum) {
    return is_large(maximum) ? sum * large_factor<Sum>(maximum) : sum;
}

inline constexpr std::int32_t beyond_any_sum = -4096;

template <class Float>
WR_HD std::int64_t frame_exponent(Float maximum) {
    return is_ordinary(maximum) ? nearest_exponent(maximum) : large_exponential(static_cast<double>(maximum)).exponent;
}

// frame_gap where a maximum is large or not finite.
template <class Float>
WR_HD_RARE std::int32_t rare_frame_gap(Float block_maximum, Float row_maximum) {
    const bool comparable =
        (is_large(row_maximum) || is_ordinary(row_maximum)) && (is_large(block_maximum) || is_ordinary(block_maximum));
    if (!comparable) {
        return beyond_any_sum;
    }
    constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
    const std::int64_t block = frame_exponent(block_maximum), row = frame_exponent(row_maximum);
    if (block == smallest || row == largest || row > block - beyond_any_sum) { // a difference could overflow
        return beyond_any_sum;
    }
    return static_cast<std::int32_t>(block - row);
}

// N of a block less N of its row: at most 0, and beyond_any_sum where the block cannot be seen in the row's total.
template <class Float>
WR_HD std::int32_t frame_gap(Float block_maximum, Float row_maximum) {
    if (block_maximum == row_maximum) {
        return 0;
    }
    if (is_ordinary(block_maximum) && is_ordinary(row_maximum)) {
        return larger(nearest_exponent(block_maximum) - nearest_exponent(row_maximum), beyond_any_sum);
    }
    return rare_frame_gap(block_maximum, row_maximum);
}

WR_HD float scale_by_power(float sum, std::int32_t k) { return sum * power_of_two_f32(k); }
WR_HD double scale_by_power(double sum, std::int32_t k) { return sum * power_of_two_f64(k); }

// A NaN wins, so that it reaches the row's maximum.
template <class Float>
WR_HD Float larger_or_nan(Float a, Float b) {
    return a >= b || is_nan(a) ? a : b;
}

// The total of some consecutive blocks of a row. Combining the states of neighbours, up the natural tree, gives the
// bits of scaling every block once to the row's maximum: powers of two are exact, and a block so far below that its
// scaled sum would leave the normal range is too small to change a sum that has the maximum's block in it. So aligned
// that it can be moved whole, by one store.
template <class Float, class Sum>
struct alignas(2 * sizeof(Sum)) RowState {
    Float maximum;
    Sum sum;
};

template <class Float, class Sum>
WR_HD RowState<Float, Sum> combine(RowState<Float, Sum> a, RowState<Float, Sum> b) {
    const Float maximum = larger_or_nan(a.maximum, b.maximum);
    return {maximum, scale_by_power(a.sum, frame_gap(a.maximum, maximum)) +
                         scale_by_power(b.sum, frame_gap(b.maximum, maximum))};
}

// For TreeCounter.
template <class Float, class Sum>
struct StateMerge {
    using Accumulator = RowState<Float, Sum>;

    WR_HD static Accumulator identity() { return {-std::numeric_limits<Float>::infinity(), Sum(0)}; }
    WR_HD static Accumulator combine(Accumulator a, Accumulator b) { return wr::combine(a, b); }
};

enum class RowKind : std::int32_t { ordinary, not_a_number, empty };

template <class Float>
WR_HD RowKind row_kind(Float maximum) {
    if (maximum == -std::numeric_limits<Float>::infinity()) {
        return RowKind::empty;
    }
    return maximum - maximum == Float(0) ? RowKind::ordinary : RowKind::not_a_number;
}

// What a block's exponentials are multiplied by, in two pieces.
template <class Float>
struct BlockFactor {
    Float high, low;
};

// numerator / row_sum: the factor of a block whose numerator is 2^gap, times large_factor where the block is large.
template <class Sum>
WR_HD BlockFactor<float> factor_in_pieces(double numerator, Sum row_sum, float) {
    const double factor = numerator / static_cast<double>(row_sum);
    const float high = static_cast<float>(factor);
    return {high, static_cast<float>(factor - static_cast<double>(high))};
}
WR_HD BlockFactor<double> factor_in_pieces(double numerator, double row_sum, double) {
    const double high = numerator / row_sum;
    return {high, fused(-high, row_sum, numerator) / row_sum};
}

template <class Float, class Sum>
WR_HD BlockFactor<Float> block_factor(Float block_maximum, Float row_maximum, Sum row_sum) {
    const double own = is_large(block_maximum) ? static_cast<double>(large_factor<Sum>(block_maximum)) : 1.0;
    return factor_in_pieces(own * power_of_two_f64(frame_gap(block_maximum, row_maximum)), row_sum, Float());
}

// Outputs as wide as the arithmetic (f32, f64) take both pieces of the factor, narrower ones the first.
template <class Float>
WR_HD Float softmax_output(Float e, BlockFactor<Float> factor) {
    return fused(e, factor.high, e * factor.low);
}
template <class Float>
WR_HD Float softmax_narrow_output(Float e, BlockFactor<Float> factor) {
    return e * factor.high;
}

// A sum of two numbers and what its rounding lost, exactly (Knuth, The Art of Computer Programming 2, 4.2.2).
template <class Float>
struct ExactSum {
    Float rounded, lost;
};

template <class Float>
WR_HD ExactSum<Float> exact_sum(Float a, Float b) {
    const Float rounded = a + b;
    const Float b_part = rounded - a;
    return {rounded, (a - (rounded - b_part)) + (b - b_part)};
}

// What log-softmax subtracts from each logit, in two pieces of which the first is logsumexp.
template <class Float>
struct LogPieces {
    Float high, low;
};

// log(sum of exp(x)) of an ordinary row: the maximum plus the logarithm of the sum in units of the maximum's own
// computed exponential, both in one frame, whichever. Errors of the two cancel where the maximum dominates, so a result
// close to the maximum is relatively exact, and one element gives the element.
template <class Float, class Sum>
WR_HD LogPieces<Float> logsumexp_in_units(Float maximum, Sum sum, Sum unit) {
    const Logarithm<Float> l = logarithm_of_quotient<Float>(sum, unit);
    const ExactSum<Float> first = exact_sum(maximum, l.whole);
    const ExactSum<Float> second = exact_sum(first.rounded, l.near);
    const ExactSum<Float> all = exact_sum(second.rounded, (first.lost + second.lost) + l.rest);
    return {all.rounded, all.lost};
}
template <class Float, class Sum>
WR_HD LogPieces<Float> row_logsumexp(Float maximum, Sum sum) {
    const Sum unit =
        is_large(maximum) ? large_factor<Sum>(maximum) : static_cast<Sum>(exponential_in(frame_of(maximum), maximum));
    return logsumexp_in_units(maximum, sum, unit);
}

template <class Float>
WR_HD Float log_softmax_output(Float x, LogPieces<Float> lse) {
    return (x - lse.high) - lse.low;
}

// What softmax and log-softmax give in every place of a row that is not ordinary.
template <class Float>
WR_HD Float special_output(RowKind kind, bool log, bool empty_row_zero) {
    if (kind == RowKind::empty && empty_row_zero) {
        return log ? -std::numeric_limits<Float>::infinity() : Float(0);
    }
    return std::numeric_limits<Float>::quiet_NaN();
}

// logsumexp of any row.
template <class Float, class Sum>
WR_HD Float logsumexp_of(Float maximum, Sum sum) {
    const bool ordinary = row_kind(maximum) == RowKind::ordinary;
    return ordinary ? row_logsumexp(maximum, sum).high : maximum;
}

// As the output that softmax offers beside its own: f32, or f64 for f64.
template <class Float, class Sum>
WR_HD void store_logsumexp(Float maximum, Sum sum, void *output, std::size_t index) {
    store_float(logsumexp_of(maximum, sum), sizeof(Float) == 4 ? ElementType::f32 : ElementType::f64, output, index);
}

// What an element that takes no part gives. A row of which nothing is left is special in all places.
template <class Float>
WR_HD Float left_out_output(RowKind kind, bool log, bool empty_row_zero) {
    if (kind == RowKind::empty) {
        return special_output<Float>(kind, log, empty_row_zero);
    }
    return log ? -std::numeric_limits<Float>::infinity() : Float(0);
}

// The row's maximum as an output. Which of two zeros a maximum is depends on the order of comparing: it is +0.
template <class Float>
WR_HD void store_maximum(Float maximum, void *output, std::size_t index) {
    store_float(maximum + Float(0), sizeof(Float) == 4 ? ElementType::f32 : ElementType::f64, output, index);
}

} // namespace wr
