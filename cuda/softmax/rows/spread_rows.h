// Rows of neighbouring elements spread over lanes, a few vectors a lane: short ones over some lanes of a warp, few
// longer ones over the warps of a block.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/softmax/arguments.h"
#include "numerics/problem.h"

namespace wr::cuda {

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

} // namespace wr::cuda
