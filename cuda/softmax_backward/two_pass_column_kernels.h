// The kernels of the gradient of columns, as the launcher sees them; all take BackwardColumnArguments. Plain data: host
// and GPU share it.
#pragma once

#include "cuda/rowwise/two_pass_columns_plan.h"

namespace wr::cuda {

struct BackwardColumnArguments {
    const void *saved; // softmax's outputs, or the logits where there is a logsumexp of each column
    const float *logsumexp;
    const void *output_gradient;
    void *input_gradient;
    double *sums;         // [columns][splits]
    const double *totals; // [columns]
    std::size_t axis, inner, splits;
    std::ptrdiff_t outer_stride, axis_stride, gradient_outer_stride, gradient_axis_stride;
    TwoPassColumnTiles tiles;
    float scale;
    bool log, empty_row_zero;
};

struct BackwardColumnKernels {
    const void *sums[2], *gradients[2]; // from outputs, from logits
};

template <class T>
const BackwardColumnKernels &backward_column_kernels();

} // namespace wr::cuda
