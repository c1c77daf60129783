// Softmax and log-softmax of columns of any length, of whole vectors: their states, the totals of these, their outputs.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/rowwise/two_pass_columns_plan.h"
#include "cuda/softmax/arguments.h"
#include "numerics/problem.h"

namespace wr::cuda {

struct SoftmaxTwoPassColumnArguments {
    SoftmaxArguments softmax; // splits: tiles of a column
    TwoPassColumnTiles tiles;
    std::uint32_t count; // of all tiles, which blocks take in turn where there are fewer
};

struct SoftmaxTwoPassColumnKernels {
    const void *states, *outputs;
};

template <class T>
const SoftmaxTwoPassColumnKernels &softmax_two_pass_column_kernels();

// The parts that such a job has, each a block's; 0 where these kernels do not serve it.
std::size_t two_pass_column_tiles(const SoftmaxProblem &problem);

// Whether they serve it as a logsumexp alone, and the launch that leaves the state of each tile.
bool serves_two_pass_column_states(const SoftmaxProblem &problem);
cudaError_t launch_two_pass_column_states(const SoftmaxProblem &problem, StoredState *states, bool dependent,
                                          cudaStream_t stream);

// `totals` makes a.totals of a.states, and the logsumexp where that is wanted. No more than `most` blocks, which take
// the parts in turn.
cudaError_t launch_two_pass_columns(const SoftmaxProblem &problem, const SoftmaxArguments &a, std::size_t most,
                                    const Launch &totals, bool dependent, cudaStream_t stream);

} // namespace wr::cuda
