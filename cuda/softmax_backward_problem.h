// What several ways to put a gradient of softmax on a GPU ask of the problem.
#pragma once

#include "numerics/problem.h"

namespace wr::cuda {

inline bool is_from_logits(const SoftmaxBackwardProblem &p) { return p.output == nullptr; }

// What was saved of the forward call: its logits or its outputs.
inline const void *saved_array(const SoftmaxBackwardProblem &p) { return is_from_logits(p) ? p.input : p.output; }

// Whether all elements take part, all arrays have one type, and gradients are written as they are.
inline bool takes_all_as_it_is(const SoftmaxBackwardProblem &p) {
    return !p.add_to_input_gradient && leaves_nothing_out(p.selection) && p.output_gradient_dtype == p.dtype &&
           p.input_gradient_dtype == p.dtype;
}

} // namespace wr::cuda
