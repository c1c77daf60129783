// Softmax of rows in registers, with masks, lengths, the causal limit or maxima.
#pragma once

#include "cuda/common/alignment.h"
#include "cuda/rowwise/row_tiles_plan.h"
#include "cuda/softmax/arguments.h"
#include "numerics/problem.h"

namespace wr::cuda {

// Whether rows' limits can be counted in 32 bits and without overflow.
bool has_small_limits(const Shape &shape, const Selection &chosen);

// Rows of whole vectors. No warps: other kernels do it.
RowTilesPlan plan_masked_rows(const SoftmaxProblem &problem, const GpuFacts &gpu);

// Rows anywhere in memory, whose outputs have their type. No warps: other kernels do it.
RowTilesPlan plan_softmax_anywhere(const SoftmaxProblem &problem, const GpuFacts &gpu);

// Nothing is launched and `supported` is false where the plan has no warps, or the GPU no such clusters.
cudaError_t launch_planned_masked_rows(const SoftmaxProblem &problem, const RowTilesPlan &plan, const GpuFacts &gpu,
                                       cudaStream_t stream, bool *supported);

// Rows so short that a warp takes several.
bool serves_masked_short(const SoftmaxProblem &problem, const GpuFacts &gpu);

cudaError_t launch_masked_short(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream);

// Of the arguments of plain softmax those of a row's place and arithmetic count.
struct MaskedRowsArguments : SoftmaxArguments {
    const std::uint8_t *mask; // nullptr: none; the input is contiguous then
    const std::int64_t *lengths;
    bool causal;
    std::int64_t causal_first;
    std::uint32_t causal_rows;
    std::size_t rows_ahead; // whose lengths are asked for before their turn
};

// The same of rows of which each has a scale of its own.
struct ScaledRowsArguments : MaskedRowsArguments {
    const void *scales;
};

// For rows of up to 512 elements, one behind the other: several to a warp, whole vectors or any.
struct MaskedShortKernels {
    const void *packed[2], *any[2]; // [log]
};
template <class T>
const MaskedShortKernels &masked_short_kernels();

// For rows of T of a block or of a cluster whose outputs are of T: the warps along a row that a block may have where
// the row is its own, and where it is a cluster's; and a row's tiles.
inline constexpr int masked_rows_warps = 8;
inline constexpr int masked_cluster_warps = 16;
inline constexpr int masked_cluster_states = 256;
struct MaskedRowsKernels {
    const void *of_blocks, *of_clusters;
};
template <class T, Alignment Where>
const MaskedRowsKernels &masked_rows_kernels();

// For such rows on the boundaries whose outputs are of another type; those of F16 for rows of 8 bits as well.
template <class T>
const MaskedRowsKernels &converting_masked_kernels();

// For such rows with outputs of T that no mask cuts, and ScaledRowsArguments.
template <class T>
const MaskedRowsKernels &scaled_rows_kernels();

} // namespace wr::cuda
