// How rows of any kind are spread over a GPU: the same for softmax with options and for its gradient.
#pragma once

#include "cuda/rowwise/row_tiles_plan.h"
#include "cuda/rowwise/strided_arguments.h"

#include <algorithm>

namespace wr::cuda {

// Columns of up to so many elements, however many there are, want no memory for states, which would be larger than they
// are: what no other kernel takes in one launch a thread does by itself.
inline constexpr std::size_t softmax_whole_column_axis = 256;

enum class StridedRegime {
    rows,    // each row by a block of threads or a warp
    splits,  // rows by many blocks: sums of splits, totals, results
    columns, // a thread walks a tile of a column; then totals and results, where there are more
};

struct StridedPlan {
    StridedRegime regime;
    std::size_t rows, blocks; // tiles of a row; of ragged rows unknown
    std::size_t splits;       // of a row, each with a partial result in the workspace; 0: none has one
    std::size_t tiles_a_warp;
    int warps; // of a row, where regime is rows; of ragged rows, of a block that takes as many
    bool ragged;

    // Columns that launch_strided does at once, without memory for states.
    bool has_whole_columns() const { return regime == StridedRegime::columns && blocks == 1; }
};

StridedPlan plan_general(const Shape &shape, bool ragged);

// Of rows each tile of which has a warp, so that they are read once; no warps where they are too long, too many,
// ragged or columns, or where there are no such kernels.
RowTilesPlan plan_whole_rows(const StridedKernels &kernels, const Shape &shape, bool ragged, const GpuFacts &gpu);

// Bytes of the partial results of all rows' splits and of the rows themselves.
std::size_t general_workspace_bytes(const StridedPlan &plan, std::size_t state_bytes);

// `writes`: whether results are wanted too.
cudaError_t launch_strided(const StridedKernels &kernels, const StridedPlan &plan, bool writes,
                           StridedSoftmaxArguments &arguments, cudaStream_t stream);
cudaError_t launch_strided(const StridedKernels &kernels, const StridedPlan &plan, bool writes,
                           SoftmaxBackwardArguments &arguments, cudaStream_t stream);

} // namespace wr::cuda
