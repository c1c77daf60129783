// The logsumexp of whole rows of neighbouring elements: everything else is the general kernels'.
#pragma once

#include "cuda/softmax/logsumexp/arguments.h"

#include <cuda_runtime_api.h>

namespace wr::cuda {

// How rows are spread over warps. No units: not served.
struct LogSumExpPlan {
    std::size_t units, units_a_warp;
    std::size_t splits, unit_tiles;
    int row_lanes;
    bool by_blocks; // blocks of threads take a unit each; else warps take units_a_warp
};

LogSumExpPlan plan_logsumexp(const SoftmaxProblem &problem);

// Of the states of splits and of rows.
std::size_t logsumexp_workspace_bytes(const SoftmaxProblem &problem, const LogSumExpPlan &plan);

// Launches `totals`, a kernel that takes StridedSoftmaxArguments, where rows have several splits; `a` brings the
// problem and room for the states. `dependent`: whether the GPU knows dependent launches.
cudaError_t launch_logsumexp(const LogSumExpPlan &plan, const void *totals, StridedSoftmaxArguments &a, bool dependent,
                             cudaStream_t stream);

// The launch that makes rows' logsumexp of the states of their splits, which `a` brings.
cudaError_t launch_logsumexp_totals(const void *totals, StridedSoftmaxArguments &a, bool dependent,
                                    cudaStream_t stream);

// The first half of softmax of long rows: whether splits of so many tiles are read that way, and the launch that
// leaves their states, `splits` of each row.
bool serves_split_states(const SoftmaxProblem &problem, std::size_t splits, std::size_t split_tiles);
cudaError_t launch_split_states(const SoftmaxProblem &problem, std::size_t splits, std::size_t split_tiles,
                                StoredState *states, bool dependent, cudaStream_t stream);

} // namespace wr::cuda
