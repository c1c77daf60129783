// The gradient of softmax of columns so short that the registers of a block or a cluster hold some of them: read once.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/rowwise/column_tile_plan.h"
#include "numerics/problem.h"

namespace wr::cuda {

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

} // namespace wr::cuda
