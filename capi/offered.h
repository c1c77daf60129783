// What the library offers: which operator takes which element types to which outputs. The one place that says so.
//
// Operators and types come as the numbers that callers gave: any at all.
#pragma once

#include "numerics/problem.h"
#include "numerics/status.h"

namespace wr::capi {

// What a caller asks of a reduction; zero is the default.
struct ReductionAsked {
    std::int32_t op, dtype, output_dtype, accumulate_dtype, weights_dtype, nan_mode, add_to_output;
    bool weighted;
};

struct SoftmaxTypes {
    ElementType dtype, output_dtype;
};

struct SoftmaxBackwardTypes {
    ElementType dtype, output_gradient_dtype, input_gradient_dtype;
};

// invalid_op, invalid_dtype, invalid_option, unsupported or success; what is found is written on success alone.
Status resolve_reduction(const ReductionAsked &asked, Reduction &found);
Status resolve_softmax_types(std::int32_t dtype, std::int32_t output_dtype, SoftmaxTypes &types);
Status resolve_softmax_backward_types(std::int32_t dtype, std::int32_t output_gradient_dtype,
                                      std::int32_t input_gradient_dtype, SoftmaxBackwardTypes &types);

} // namespace wr::capi
