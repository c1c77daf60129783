// How rows of any kind are spread over a GPU: the same for softmax with knobs and for its gradient.
#pragma once

#include "cuda/rowwise/row_tiles_plan.h"
#include "cuda/rowwise/strided_arguments.h"

#include <algorithm>

namespace wr::cuda {

enum class GeneralRegime {
    rows,    // each row by a block of threads or a warp
    pieces,  // rows by many blocks: sums of pieces, totals, results
    columns, // a thread walks a base block of a column; then totals and results, where there are more
};

struct GeneralPlan {
    GeneralRegime regime;
    std::size_t rows, blocks; // base blocks of a row; of ragged rows unknown
    std::size_t pieces;       // of a row, each with a partial result in the workspace; 0: none has one
    std::size_t blocks_a_warp;
    int warps; // of a row, where regime is rows; of ragged rows, of a block that takes as many
    bool ragged;

    // Columns that launch_general does at once, without memory for states.
    bool has_whole_columns() const { return regime == GeneralRegime::columns && blocks == 1; }
};

GeneralPlan plan_general(const Shape &shape, bool ragged);

// Of rows each base block of which has a warp, so that they are read once; no warps where they are too long, too many,
// ragged or columns, or where there are no such kernels.
RowBlocksPlan plan_whole_rows(const GeneralKernels &kernels, const Shape &shape, bool ragged, const GpuFacts &gpu);

// Bytes of the partial results of all rows' pieces and of the rows themselves.
std::size_t general_workspace_bytes(const GeneralPlan &plan, std::size_t state_bytes);

// `writes`: whether results are wanted too.
cudaError_t launch_general(const GeneralKernels &kernels, const GeneralPlan &plan, bool writes,
                           GeneralSoftmaxArguments &arguments, cudaStream_t stream);
cudaError_t launch_general(const GeneralKernels &kernels, const GeneralPlan &plan, bool writes,
                           SoftmaxBackwardArguments &arguments, cudaStream_t stream);

} // namespace wr::cuda
