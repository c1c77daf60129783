// Log-softmax's outputs as what was saved for its gradient, where a row of which nothing was left has to be known:
// WR_EMPTY_ROW_ZERO made it -infinity in all places, as no other row is, which only the whole row tells.
#pragma once

#include "numerics/softmax_backward.h"
#include "numerics/softmax_rows.h"
#include "numerics/stored_elements.h"

namespace wr {

// They are logits without a scale, and their logsumexp is 0, or -infinity where nothing was left. Other rows have the
// weights that their outputs stand for, bit for bit. The gradients' scale is a row's own.
template <class Float>
WR_HD SavedRow<Float> saved_logarithms(Float scale, bool nothing_left) {
    const Float logsumexp = nothing_left ? -std::numeric_limits<Float>::infinity() : Float(0);
    return {SavedAs::logits, Float(1), logsumexp, weight_of_nothing(scale)};
}

// Whether rows have to be looked through for that.
WR_HD bool may_have_empty_rows(const SoftmaxBackwardProblem &p) {
    return p.output != nullptr && p.log && p.empty_row_zero;
}

// Where the elements of a row lie: in an array of the shape's strides, and in outputs and mask, which are contiguous.
struct RowPlaces {
    std::ptrdiff_t first, stride;
    std::size_t output, output_stride;
    std::size_t taken; // leading elements that take part, but for those that the mask leaves out

    WR_HD bool takes_part(const Selection &selection, std::size_t at) const {
        return selection.mask == nullptr || selection.mask[output + at * output_stride] != 0;
    }
    WR_HD std::size_t index(std::size_t at) const {
        return static_cast<std::size_t>(first + static_cast<std::ptrdiff_t>(at) * stride);
    }
};

WR_HD RowPlaces places_of_row(const Selection &selection, const Shape &s, std::size_t row) {
    if (selection.ragged) {
        const RowSpan span = ragged_row(selection, s.outer, s.axis, row);
        return {static_cast<std::ptrdiff_t>(span.first), s.axis_stride, span.first, 1,
                leading_elements(selection, row, row, span.count)};
    }
    const std::size_t outer = row / s.inner, inner = row % s.inner;
    return {static_cast<std::ptrdiff_t>(outer) * s.outer_stride + static_cast<std::ptrdiff_t>(inner) * s.inner_stride,
            s.axis_stride, outer * s.axis * s.inner + inner, s.inner, leading_elements(selection, row, outer, s.axis)};
}

// Whether an element takes part and says that something of its row was left.
WR_HD bool shows_that_something_was_left(const SoftmaxBackwardProblem &p, const RowPlaces &row, std::size_t at) {
    return row.takes_part(p.selection, at) &&
           load_float(p.dtype, p.output, row.index(at)) != -std::numeric_limits<double>::infinity();
}

} // namespace wr
