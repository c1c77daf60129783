// What several ways to put a gradient of softmax on a GPU ask of the problem.
#pragma once

#include "cuda/common/alignment.h"
#include "cuda/common/vector_types.h"
#include "numerics/problem.h"

namespace wr::cuda {

inline bool is_from_logits(const SoftmaxBackwardProblem &p) { return p.output == nullptr; }

// What was saved of the forward call: its logits or its outputs.
inline const void *saved_array(const SoftmaxBackwardProblem &p) { return is_from_logits(p) ? p.input : p.output; }

// Whether all arrays have one type, and gradients are written as they are.
inline bool is_of_one_type(const SoftmaxBackwardProblem &p) {
    return !p.add_to_input_gradient && p.output_gradient_dtype == p.dtype && p.input_gradient_dtype == p.dtype;
}

// The same where all elements take part.
inline bool takes_all_as_it_is(const SoftmaxBackwardProblem &p) {
    return is_of_one_type(p) && leaves_nothing_out(p.selection);
}

inline bool are_aligned(const SoftmaxBackwardProblem &p) {
    return is_aligned(saved_array(p), bytes_of_vector) && is_aligned(p.output_gradient, bytes_of_vector) &&
           is_aligned(p.input_gradient, bytes_of_vector);
}

// Whether columns side by side are whole vectors of one type on their boundaries, in all arrays.
inline bool are_column_vectors(const SoftmaxBackwardProblem &p) {
    const Shape &s = p.shape;
    const std::size_t elements = elements_of_vector(p.dtype);
    return s.inner_stride == 1 && p.gradient_inner_stride == 1 && s.inner % elements == 0 &&
           are_whole_vectors(s.axis_stride, elements) && are_whole_vectors(p.gradient_axis_stride, elements) &&
           steps_by_vectors(s.outer, s.outer_stride, elements) &&
           steps_by_vectors(s.outer, p.gradient_outer_stride, elements) && are_aligned(p);
}

} // namespace wr::cuda
