// Softmax of tall columns that all multiprocessors share, so that they are read once.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/softmax/arguments.h"
#include "numerics/problem.h"

#include <cstddef>

namespace wr::cuda {

// For what multiprocessors tell each other, and for the states of columns that are left; 0 where they are not
// supported.
std::size_t most_lookback_columns_bytes(const SoftmaxProblem &problem);

// Columns of whole vectors of which softmax alone is wanted, where they are tall and many enough; else, or where the
// GPU does not hold such blocks, nothing is launched and `supported` is false. `totals` as in
// launch_two_pass_columns.
cudaError_t launch_lookback_columns(const SoftmaxProblem &problem, const SoftmaxArguments &a, const Launch &totals,
                                    const GpuFacts &gpu, cudaStream_t stream, bool *supported);

} // namespace wr::cuda
