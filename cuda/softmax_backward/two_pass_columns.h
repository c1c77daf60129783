// The gradient of softmax of columns of whole vectors of one type: the sums of their tiles, the totals of these,
// then the gradients.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/rowwise/strided_arguments.h"
#include "cuda/rowwise/two_pass_columns_plan.h"

namespace wr::cuda {

bool serves_backward_columns(const SoftmaxBackwardProblem &problem);

// `a` brings the problem and room for sums and totals; `totals` is the kernel that makes the latter of the former.
cudaError_t launch_backward_columns(const void *totals, SoftmaxBackwardArguments &a, bool dependent,
                                    cudaStream_t stream);

struct BackwardColumnArguments {
    const void *saved;      // softmax's outputs, or the logits where there is a logsumexp of each column
    const float *logsumexp; // nullptr: none
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
    const void *sums, *gradients;
};

template <class T>
const BackwardColumnKernels &backward_column_kernels();

} // namespace wr::cuda
