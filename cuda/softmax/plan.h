// Which kernels take a softmax, and how: a function of its shape, its places and the GPU.
#pragma once

#include "cuda/rowwise/row_plan.h"
#include "cuda/softmax/kernels.h"
#include "numerics/problem.h"

#include <cstddef>

namespace wr::cuda {

// Threads of a block, for rows of any length.
inline constexpr std::size_t softmax_two_pass_row_threads = 256;
inline constexpr std::size_t softmax_two_pass_row_warps = softmax_two_pass_row_threads / 32;

// General: what launch_general_softmax does.
enum class SoftmaxRegime { short_rows, registers, clusters, two_pass_rows, tiles, two_pass_columns, general };

// How a row's elements are loaded. Singles: one at a time, by the kernels for rows of any kind. Columns have rules of
// their own and do not ask.
enum class LoadPolicy { vectors, unaligned, converted, strided };

struct SoftmaxPlan {
    SoftmaxRegime regime;
    std::size_t tiles = 0;  // of a row
    std::size_t splits = 0; // states of a row; 0 where none is stored
    std::size_t tiles_a_warp = 0;
    ClusterSize cluster{0, 0};
    int column_tile = 0;                     // which of softmax_tiles
    const void *const *short_rows = nullptr; // the kernels of short rows, [log]
    std::size_t lanes = 0, batches = 0;      // a short row's lanes or places, and how often a warp's lanes take rows
    std::size_t warp_rows = 0;               // short rows of a warp
    bool load_balanced = false;              // clusters' blocks go where there is room
    bool few = false;                        // clusters are so few that each tile has a multiprocessor's attention
};

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
LoadPolicy softmax_places(const SoftmaxProblem &problem, const SoftmaxKernels &kernels, const GpuFacts &gpu);

SoftmaxPlan plan_softmax(const SoftmaxProblem &problem, const SoftmaxKernels &kernels, LoadPolicy places,
                         const GpuFacts &gpu);

// Whether the plan's kernels write rows' maxima, too.
bool writes_maxima(const SoftmaxPlan &plan);

// Bytes that suffice on every GPU for a normalised problem of which every element takes part.
std::size_t plain_softmax_workspace_bytes(const SoftmaxProblem &problem);

// For the states and totals of the plan's rows.
std::size_t workspace_bytes(const Shape &shape, const SoftmaxPlan &plan);

// The plan with clusters of more blocks than every GPU allows, and whether they should be tried.
SoftmaxPlan with_wide_cluster(SoftmaxPlan plan, std::size_t rows, const GpuFacts &gpu);
bool wants_wide_cluster(const SoftmaxPlan &plan, std::size_t rows, const GpuFacts &gpu);

// Whether time is saved where clusters take their places before the kernel in front of them has finished.
bool gains_by_dependent_launch(std::size_t tile_count, const GpuFacts &gpu);

} // namespace wr::cuda
