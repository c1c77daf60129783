// Few rows of neighbouring elements, each spread over as many lanes as there are vectors of them: a few lanes of a
// warp, a warp, or the warps of a block.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/softmax/arguments.h"
#include "numerics/problem.h"

namespace wr::cuda {

inline constexpr int most_spread_warps = 32; // of a row that has a block
inline constexpr int spread_block_warps = 4; // of a block where a row has a warp at most

struct SpreadRowsArguments : SoftmaxArguments {
    bool on_boundaries;     // rows are whole vectors there
    std::int32_t log_lanes; // log2 of the lanes that a row has where that is a warp at most
};

struct SpreadRowsKernels {
    const void *by_lanes[2], *by_block[2]; // [log]
};
template <class T>
const SpreadRowsKernels &spread_rows_kernels();

bool serves_spread_rows(const SoftmaxProblem &problem, const GpuFacts &gpu);
cudaError_t launch_spread_rows(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream);

} // namespace wr::cuda
