// The kernels of exact sums, by their addresses.
#pragma once

#include "cuda/reduce/exact/arguments.h"

namespace wr::cuda {

// Any layout.
const void *exact_sum_kernel(ElementType type, bool products);

// Long rows of neighbours, of all types but f64.
const void *exact_rows_kernel(ElementType type);

// Short ones of whole vectors.
const void *exact_short_rows_kernel(ElementType type);

// The partial sums of each output into its result: a block each.
const void *exact_merge_kernel();

} // namespace wr::cuda
