// Which elements of a softmax's rows take part: what masks, lengths, the causal limit and ragged rows come to.
#pragma once

#include "numerics/problem.h"

#include <limits>

namespace wr {

// What a row's logits are multiplied by. One of a row's own is 1 where it is 0, and NaN where it is not finite.
template <class Float, class Problem>
WR_HD Float scale_of_row(const Problem &p, std::size_t row) {
    if (p.scales == nullptr) {
        return static_cast<Float>(p.scale);
    }
    const Float own = static_cast<const Float *>(p.scales)[row];
    return own == Float(0) ? Float(1) : own + (own - own);
}

// The elements `first` .. `first + count - 1` of the output (and of a contiguous input).
struct RowSpan {
    std::size_t first, count;
};

// Read where it is wanted instead of by a call: a GPU asks for all the offsets that it needs at once.
WR_HD std::int64_t row_offset(const Selection &selection, std::size_t index) {
    return selection.offsets_type == ElementType::i64 ? static_cast<const std::int64_t *>(selection.offsets)[index]
                                                      : static_cast<const std::int32_t *>(selection.offsets)[index];
}

// The elements that ragged rows may have. Offsets that only a GPU has looked at may be any numbers at all: nothing
// outside the first and last offset, or the input's elements where their number is known, is ever touched.
WR_HD RowSpan all_ragged_rows(const Selection &selection, std::size_t rows, std::size_t elements) {
    std::int64_t low = larger<std::int64_t>(row_offset(selection, 0), 0);
    std::int64_t high = larger(row_offset(selection, rows), low);
    if (elements != 0) {
        high = smaller(high, static_cast<std::int64_t>(elements));
        low = smaller(low, high);
    }
    return {static_cast<std::size_t>(low), static_cast<std::size_t>(high - low)};
}

// Row `row` of them.
WR_HD RowSpan ragged_row(const Selection &selection, RowSpan all, std::size_t row) {
    const auto low = static_cast<std::int64_t>(all.first), high = static_cast<std::int64_t>(all.first + all.count);
    const std::int64_t begin = smaller(larger(row_offset(selection, row), low), high);
    const std::int64_t end = smaller(larger(row_offset(selection, row + 1), begin), high);
    return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)};
}
WR_HD RowSpan ragged_row(const Selection &selection, std::size_t rows, std::size_t elements, std::size_t row) {
    return ragged_row(selection, all_ragged_rows(selection, rows, elements), row);
}

WR_HD std::size_t no_more_than(std::size_t count, std::int64_t limit) {
    return limit < 0 ? 0 : smaller(count, static_cast<std::size_t>(limit));
}

// How many of the first `count` elements of a row the causal limit leaves, `outer` being the row's outer index.
WR_HD std::size_t within_causal_limit(const Selection &selection, std::size_t outer, std::size_t count) {
    if (selection.causal) {
        const auto index = static_cast<std::int64_t>(outer % selection.causal_rows);
        constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
        const bool beyond = selection.causal_first > largest - index;
        count = no_more_than(count, beyond ? largest : selection.causal_first + index);
    }
    return count;
}

// How many leading elements of a row of `count` take part, but for those that the mask leaves out. `row` counts
// [outer][inner].
WR_HD std::size_t leading_elements(const Selection &selection, std::size_t row, std::size_t outer, std::size_t count) {
    if (selection.lengths != nullptr) {
        count = no_more_than(count, selection.lengths[row]);
    }
    return within_causal_limit(selection, outer, count);
}

// The same of a piece of a row, `count` elements from element `first` of it on: limits count from the row's first.
WR_HD std::size_t leading_elements_of_piece(const Selection &selection, std::size_t row, std::size_t outer,
                                            std::size_t first, std::size_t count) {
    const std::size_t leading = leading_elements(selection, row, outer, first + count);
    return leading - smaller(leading, first);
}

} // namespace wr
