// A job, checked and with every default resolved: what capi/ hands to host/ or cuda/.
#pragma once

#include "numerics/finish.h"

namespace wr {

// [outer][axis][inner] and the input's strides in elements; none of the strides is a default any more.
struct Shape {
    std::size_t outer, axis, inner;
    std::ptrdiff_t outer_stride, axis_stride, inner_stride;
};

// What a reduction computes, wherever its elements lie.
struct Reduction {
    Operator op;
    ElementType dtype, output_dtype;
    ElementType accumulate_dtype; // none where the operator leaves no choice
    ElementType weights_dtype;    // none where there are no weights
    bool ignore_nan;
    bool add_to_output;
    bool wide_integers; // the result of integers may need more than 64 bits, and a float takes it
};

// Whether the result of up to `axis` integers for a float output may leave 64 bits on its way. Of bytes no sum does: no
// array has 2^47 elements and more.
constexpr bool needs_wide_integers(const Reduction &what, std::uint64_t axis) {
    const ElementTraits input = traits_of(what.dtype);
    if (!input.is_integer || !traits_of(what.output_dtype).is_float) {
        return false;
    }
    switch (what.op) {
    case Operator::product:
        return true;
    case Operator::sum_of_squares:
    case Operator::norm_l2:
        return input.size > 1;
    case Operator::sum:
    case Operator::mean:
    case Operator::norm_l1:
        if (what.weights_dtype != ElementType::none) {
            return input.size > 1;
        }
        return input.size == 8 || (input.size == 4 && axis > std::uint64_t{1} << 31);
    default:
        return false;
    }
}

struct ReduceProblem {
    Reduction what;
    const void *input;
    const void *weights; // nullptr: none
    void *output;
    void *values; // argmin, argmax: the extremes too; nullptr: not wanted
    Shape shape;
    void *workspace; // nullptr: allocate on the stream
    std::size_t workspace_bytes;
};

// Segment s is the elements offsets[s] .. offsets[s + 1] - 1 of the input.
struct SegmentsProblem {
    Reduction what;
    const void *input;
    void *output;
    void *values;
    const void *offsets;      // segments + 1 of them
    ElementType offsets_type; // i64 or i32
    std::size_t segments;
    std::size_t input_count; // elements of the input; 0: as many as the last offset says
    void *workspace;
    std::size_t workspace_bytes;
};

// Which elements of a softmax's rows take part; all zero: every element.
struct Selection {
    const std::uint8_t *mask;    // of the output's shape; 0 leaves an element out
    const std::int64_t *lengths; // [outer][inner], how many leading elements of each row take part
    bool causal;                 // row [o] sees the first o % causal_rows + causal_first elements
    std::int64_t causal_first;
    std::size_t causal_rows;
    // Ragged rows: row r is elements offsets[r] .. offsets[r + 1] - 1 of input and output. The shape is then {rows,
    // elements of the input, 1}, where 0 elements stand for as many as the last offset says.
    bool ragged;
    const void *offsets;
    ElementType offsets_type; // i64 or i32
};

// Whether every element takes part and rows are of one length.
constexpr bool leaves_nothing_out(const Selection &selection) {
    return selection.mask == nullptr && selection.lengths == nullptr && !selection.causal && !selection.ragged;
}

struct SoftmaxProblem {
    ElementType dtype, output_dtype;
    bool log;
    bool empty_row_zero;
    double scale; // 1 where none was asked for, and where each row has its own
    const void *input;
    void *output;    // nullptr: not wanted
    void *logsumexp; // nullptr: not wanted
    Shape shape;
    void *workspace;
    std::size_t workspace_bytes;
    void *maximum; // nullptr: not wanted; of the type that states are kept in
    ElementType logsumexp_dtype;
    Selection selection;
    const void *scales; // [outer][inner], of the type that states are kept in; nullptr: all rows have the one
};

struct SoftmaxBackwardProblem {
    ElementType dtype; // of the saved outputs or logits
    ElementType output_gradient_dtype, input_gradient_dtype;
    bool log;
    bool empty_row_zero;
    bool add_to_input_gradient;
    double scale;       // as in SoftmaxProblem
    const void *output; // what softmax gave; nullptr: the logits and their logsumexp are there instead
    const void *input;
    const void *logsumexp; // [outer][inner], of the type that states are kept in
    const void *output_gradient;
    void *input_gradient; // contiguous
    Shape shape;          // with the strides of output or input
    std::ptrdiff_t gradient_outer_stride, gradient_axis_stride, gradient_inner_stride; // of output_gradient
    Selection selection;
    void *workspace;
    std::size_t workspace_bytes;
    const void *scales; // as in SoftmaxProblem
};

// The type that logits are scaled and the states of rows are kept in.
WR_HD constexpr ElementType state_type(ElementType dtype) {
    return dtype == ElementType::f64 ? ElementType::f64 : ElementType::f32;
}

WR_HD constexpr bool is_contiguous(const Shape &s) {
    return s.inner_stride == 1 && s.axis_stride == static_cast<std::ptrdiff_t>(s.inner) &&
           s.outer_stride == static_cast<std::ptrdiff_t>(s.axis * s.inner);
}

// The pattern of a float type's largest number: infinity, or where there is none the largest finite value.
WR_HD constexpr std::uint64_t pattern_of_largest(ElementType type) {
    switch (type) {
    case ElementType::f64:
        return 0x7FF0000000000000u;
    case ElementType::f32:
        return 0x7F800000u;
    case ElementType::f16:
        return 0x7C00u;
    case ElementType::bf16:
        return 0x7F80u;
    case ElementType::f8_e4m3:
        return 0x7Eu;
    default:
        return 0x7Cu;
    }
}

// Mapping::flip. Keys have 64 bits for elements of that size and 32 for all others.
WR_HD constexpr std::uint64_t flip_of(const Reduction &what) {
    const ElementTraits input = traits_of(what.dtype);
    const std::uint64_t top = std::uint64_t{1} << (input.size == 8 ? 63 : 31);
    const bool as_unsigned = input.is_integer && (!input.is_signed || what.op == Operator::norm_max);
    const std::uint64_t upwards = as_unsigned ? top : 0;
    switch (what.op) {
    case Operator::max:
    case Operator::argmax:
    case Operator::norm_max:
        return upwards;
    case Operator::min:
    case Operator::argmin:
        return ~upwards;
    case Operator::bit_and:
        return ~std::uint64_t{0};
    default:
        return 0;
    }
}

// The word that stands for zero beside 0: the prime, of the fields whose words may be that.
WR_HD constexpr std::uint64_t prime_that_is_zero(ElementType type) {
    switch (type) {
    case ElementType::mersenne31:
        return Field<Mersenne31>::prime;
    case ElementType::goldilocks:
        return Field<Goldilocks>::prime;
    default:
        return 0;
    }
}

// What the operator's map is told.
WR_HD Mapping mapping_of(const Reduction &what, const void *weights) {
    const ElementTraits input = traits_of(what.dtype);
    const int bits = 8 * smaller<int>(larger<int>(input.size, 1), 8);
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - bits), top = std::uint64_t{1} << (bits - 1);
    Mapping m{};
    m.type = what.dtype;
    m.weights = weights;
    m.ignore_nan = what.ignore_nan && input.is_float;
    m.sign_bit = input.is_integer && input.is_signed ? top : 0;
    m.absolute = what.op == Operator::norm_l1 || what.op == Operator::norm_max;
    m.square = what.op == Operator::sum_of_squares || what.op == Operator::norm_l2;
    m.count_zeros = what.op == Operator::all;
    m.counted_bits = input.is_float ? all ^ top : ~std::uint64_t{0};
    m.other_zero = prime_that_is_zero(what.dtype);
    m.counted_most = m.ignore_nan ? pattern_of_largest(what.dtype) : ~std::uint64_t{0};
    m.flip = flip_of(what);
    return m;
}

WR_HD Finish finish_of(const Reduction &what, std::uint64_t axis, void *values) {
    const Mapping m = mapping_of(what, nullptr);
    return {what.op, what.dtype, what.output_dtype, what.add_to_output, axis, m.flip, values};
}

} // namespace wr
