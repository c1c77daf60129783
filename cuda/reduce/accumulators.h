// Reductions whose results are left as accumulators, the partial results of a last stage: the nodes of states.
#pragma once

#include "cuda/common/launch.h"
#include "numerics/problem.h"

namespace wr::cuda {

// Workspace for one on this GPU, and enough for one on every GPU wherever the input lies.
std::size_t accumulators_workspace_bytes(const ReduceProblem &problem, GpuFacts gpu);
std::size_t accumulators_workspace_bytes(const ReduceProblem &problem);

// [outer][inner] of them into the problem's output. There are elements.
cudaError_t reduce_to_accumulators(const ReduceProblem &problem, Workspace &workspace, cudaStream_t stream,
                                   GpuFacts gpu);

// Of all nodes of a piece of rows that begins with element `first` of its axis, [node][outer][inner], as a state has
// them, where they can be reduced side by side: a GPU's workspace, and enough for all. Not possible: nothing is done.
bool has_nodes_side_by_side(const ReduceProblem &piece, std::uint64_t first, GpuFacts gpu);
std::size_t nodes_workspace_bytes(const ReduceProblem &piece, std::uint64_t first, GpuFacts gpu);
std::size_t nodes_workspace_bytes(const ReduceProblem &piece, std::uint64_t first);
cudaError_t reduce_to_nodes(const ReduceProblem &piece, std::uint64_t first, Workspace &workspace, cudaStream_t stream,
                            GpuFacts gpu);

// The same of an exact sum, in the workspace of exact_sum: words that are settled but for a carry.
cudaError_t sum_to_exact_words(const ReduceProblem &problem, Workspace &workspace, cudaStream_t stream, GpuFacts gpu);

} // namespace wr::cuda
