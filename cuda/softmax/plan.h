// Which kernels take a softmax, and how: a function of its shape, its places and the GPU.
#pragma once

#include "cuda/reduce/plan.h"
#include "cuda/softmax/kernels.h"
#include "numerics/problem.h"

#include <cstddef>

namespace wr::cuda {

// Threads of a block, for rows of any length.
inline constexpr std::size_t softmax_long_row_threads = 256;
inline constexpr std::size_t softmax_long_row_warps = softmax_long_row_threads / 32;

// General: what softmax_general serves.
enum class SoftmaxRegime { short_rows, registers, clusters, long_rows, tiles, tall_columns, general };

// How a row's elements are reached. Singles: one at a time, by the kernels for rows of any kind; of columns it says
// nothing.
enum class SoftmaxPlaces { vectors, shifted, converted, singles };

struct SoftmaxPlan {
    SoftmaxRegime regime;
    std::size_t blocks; // base blocks of a row
    std::size_t pieces; // states of a row; 0 where none is stored
    std::size_t blocks_a_warp;
    std::size_t cluster_blocks, cluster_warps;
    int tile;                      // which of softmax_tiles
    const void *const *short_rows; // the kernels of short rows, [log]
    std::size_t lanes, batches;    // a short row's lanes or places, and how often a warp's lanes take rows
    std::size_t warp_rows;         // short rows of a warp
    bool balanced;                 // clusters' blocks go where there is room
    bool few;                      // clusters are so few that each base block has a multiprocessor's attention
};

// Rows without elements are rows wherever the axis stands.
SoftmaxProblem normalised(SoftmaxProblem problem);

// What a problem says by itself of the arguments of its kernels; nothing of memory beside the caller's arrays.
SoftmaxArguments arguments_of_problem(const SoftmaxProblem &problem);

// Whether anything of a row is wanted beside its outputs.
bool wants_row_values(const SoftmaxProblem &problem);

// Whether nothing but the logsumexp of whole rows is wanted.
// Where its result goes is not asked: queries are answered before that is known.
bool is_logsumexp_alone(const SoftmaxProblem &problem);

// Whether columns side by side are whole vectors on their boundaries, in the input and in the output, if any, and of
// one type; 16-bit ones that are to be scaled are not taken so.
bool takes_column_vectors(const SoftmaxProblem &problem);

// The places that there are kernels for.
SoftmaxPlaces softmax_places(const SoftmaxProblem &problem, const SoftmaxKernels &kernels, const GpuFacts &gpu);

SoftmaxPlan plan_softmax(const SoftmaxProblem &problem, const SoftmaxKernels &kernels, SoftmaxPlaces places,
                         const GpuFacts &gpu);

// Whether the plan's kernels write rows' maxima, too.
bool writes_maxima(const SoftmaxPlan &plan);

// For the states and totals of the plan's rows.
std::size_t workspace_bytes(const Shape &shape, const SoftmaxPlan &plan);

// The plan with clusters of more blocks than every GPU allows, and whether they should be tried.
SoftmaxPlan with_wide_cluster(SoftmaxPlan plan, std::size_t rows, const GpuFacts &gpu);
bool wants_wide_cluster(const SoftmaxPlan &plan, std::size_t rows, const GpuFacts &gpu);

// Whether time is saved where clusters take their places before the kernel in front of them has finished.
bool gains_by_dependent_launch(std::size_t base_blocks, const GpuFacts &gpu);

} // namespace wr::cuda
