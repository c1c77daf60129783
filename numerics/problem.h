// A job, checked and with every default resolved: what capi/ hands to host/ or cuda/.
#pragma once

#include "numerics/element_types.h"
#include "numerics/operators.h"

namespace wr {

// [outer][axis][inner] and the input's strides in elements; none of the strides is a default any more.
struct Shape {
    std::size_t outer, axis, inner;
    std::ptrdiff_t outer_stride, axis_stride, inner_stride;
};

struct ReduceProblem {
    Operator op;
    ElementType dtype, output_dtype, accumulate_dtype;
    const void *input;
    void *output;
    Shape shape;
    void *workspace; // nullptr: allocate on the stream
    std::size_t workspace_bytes;
};

struct SoftmaxProblem {
    ElementType dtype, output_dtype;
    bool log;
    bool empty_row_zero;
    double scale; // 1 where none was asked for
    const void *input;
    void *output;
    void *logsumexp; // nullptr: not wanted
    Shape shape;
    void *workspace;
    std::size_t workspace_bytes;
};

WR_HD constexpr bool is_contiguous(const Shape &s) {
    return s.inner_stride == 1 && s.axis_stride == static_cast<std::ptrdiff_t>(s.inner) &&
           s.outer_stride == static_cast<std::ptrdiff_t>(s.axis * s.inner);
}

} // namespace wr
