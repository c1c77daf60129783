// What several ways to put a gradient of softmax on a GPU ask of the problem, and those of columns and of empty rows.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/common/vectors.h"
#include "cuda/rowwise/arguments.h"
#include "cuda/rowwise/column_plan.h"
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

// The gradient of log-softmax from outputs among which are rows of which nothing was left: a first kernel looks for
// such rows, and the others take the outputs for logits whose logsumexp it has written.

struct EmptyRowsArguments {
    SoftmaxBackwardProblem problem;
    void *logsumexp; // [rows]: 0, or -infinity where nothing was left
};

// Bytes of memory for that; 0 where the call has no use for it.
std::size_t empty_rows_bytes(const SoftmaxBackwardProblem &problem);

// The same problem with what the kernel writes to `logsumexp`, without the caller's first bytes of workspace: from
// logits, or, where gradients have a scale, which is not these logits' own, from outputs that have a logsumexp.
SoftmaxBackwardProblem from_logarithms(const SoftmaxBackwardProblem &problem, void *logsumexp);

cudaError_t launch_empty_rows(const SoftmaxBackwardProblem &problem, void *logsumexp, cudaStream_t stream);

const void *empty_rows_kernel();

// The gradient of softmax of columns so short that the registers of a block or a cluster hold some of them: read once.

// Where they are not such, or the GPU has not the shared memory, nothing is launched and `supported` is false.
cudaError_t launch_backward_column_tiles(const SoftmaxBackwardProblem &problem, const GpuFacts &gpu,
                                         cudaStream_t stream, bool *supported);

struct BackwardColumnTileArguments {
    const void *saved;      // softmax's outputs, or the logits where there is a logsumexp of each column
    const float *logsumexp; // [outer][inner]
    const void *output_gradient;
    void *input_gradient;
    std::size_t axis, inner;
    std::ptrdiff_t outer_stride, axis_stride, gradient_outer_stride, gradient_axis_stride;
    ColumnTiles tiles;
    ColumnTileMemory memory;
    float scale;
    bool log, empty_row_zero;
};

// The same of columns whose masks, lengths or causal limit leave elements out.
struct MaskedBackwardColumnTileArguments : BackwardColumnTileArguments {
    Selection selection;
};

// What a block keeps of each column; the logsumexp where weights are formed more than once.
struct BackwardColumnTileKept {
    float total, logsumexp;
};

// Rows of a thread.
inline constexpr int backward_column_tile_rows = 4;

struct BackwardColumnTileKernels {
    const void *of[2][2];  // from outputs and from logits; [whole]
    const void *masked[2]; // likewise, of whole vectors, for MaskedBackwardColumnTileArguments
    std::size_t each;      // columns of a thread
};

template <class T>
const BackwardColumnTileKernels &backward_column_tile_kernels();

// The gradient of softmax of columns of whole vectors of one type: the sums of their tiles, the totals of these,
// then the gradients.

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
