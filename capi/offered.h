// What the library offers: which operator takes which element types to which outputs. The one place that says so.
//
// Operators and types come as the numbers that callers gave: any at all.
#pragma once

#include "numerics/element_types.h"
#include "numerics/operators.h"
#include "numerics/status.h"

namespace wr::capi {

struct ReduceTypes {
    Operator op;
    ElementType dtype, output_dtype;
    ElementType accumulate_dtype; // none where the operator leaves no choice
};

struct SoftmaxTypes {
    ElementType dtype, output_dtype;
};

// Zero for output_dtype and accumulate_dtype is the default. invalid_op, invalid_dtype, unsupported or success; `types`
// is written on success alone.
Status resolve_reduce_types(std::int32_t op, std::int32_t dtype, std::int32_t output_dtype,
                            std::int32_t accumulate_dtype, ReduceTypes &types);
Status resolve_softmax_types(std::int32_t dtype, std::int32_t output_dtype, SoftmaxTypes &types);

} // namespace wr::capi
