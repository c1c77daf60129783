// Softmax of rows in registers, where they are masked, spread over lanes or ragged: launches, and what the kernels are
// launched with. Plain data: host and GPU share it.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/common/vectors.h"
#include "cuda/rowwise/arguments.h"
#include "cuda/rowwise/row_plan.h"
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

// Rows of neighbouring elements spread over lanes, a few vectors a lane: short ones over some lanes of a warp, few
// longer ones over the warps of a block.

inline constexpr int most_spread_warps = 32; // of a row that has a block
inline constexpr int spread_block_warps = 4; // of a block where a row has a warp at most

// What a lane holds of a block's row.
inline constexpr int spread_few_elements = 8, spread_more_elements = 16;

struct SpreadRowsArguments : SoftmaxArguments {
    bool on_boundaries;     // rows are whole vectors there
    std::int32_t log_lanes; // log2 of the lanes that a row has where that is a warp at most
};

// By what a lane holds: of rows of a warp at most, and of a block's. [log]; nullptr: not supported.
struct SpreadRowsKernels {
    const void *one_vector[2], *two_vectors[2], *four_vectors[2], *four_words[2];
    const void *block_of_few[2], *block_of_more[2];
};
template <class T>
const SpreadRowsKernels &spread_rows_kernels();

// Nothing is launched where these kernels do not serve the problem, and `supported` is false.
cudaError_t launch_spread_rows(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream,
                               bool *supported);

// Softmax of ragged rows.

// No warps: not supported.
struct RaggedPlan {
    std::size_t warps, group_rows; // of a block
    bool dependent;                // may take its place before the kernel in front of it on the stream has finished
    LargeRows longer;              // which rows are wanted
};

RaggedPlan plan_ragged_softmax(const SoftmaxProblem &problem, const LargeRows &wanted, const GpuFacts &gpu);

cudaError_t launch_ragged_softmax(const SoftmaxProblem &problem, const RaggedPlan &plan, const GpuFacts &gpu,
                                  cudaStream_t stream);

struct RaggedSoftmaxArguments : SoftmaxArguments {
    Selection selection;     // ragged
    std::int32_t group_rows; // rows that a block of threads has at a time
    std::size_t rows_ahead;  // how far ahead numbers are asked for
    LargeRows longer;
};

// Rows that a block takes at most, its tiles of rows that its warps hold at a time, and its warps: of f32 fewer
// with more registers each.
inline constexpr int ragged_most_rows = 32;
inline constexpr int ragged_most_jobs = 256;
template <class T>
inline constexpr int ragged_warps_of = sizeof(T) == 2 ? 32 : 24;

struct RaggedSoftmaxKernels {
    const void *of[2]; // [log]
    int most_warps;    // of a block
};

// For outputs of the input's type, and for those of another, which no logarithms are.
template <class T>
const RaggedSoftmaxKernels &ragged_softmax_kernels();
template <class T>
const RaggedSoftmaxKernels &converting_ragged_kernels();

} // namespace wr::cuda
