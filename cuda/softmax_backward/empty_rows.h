// The gradient of log-softmax from outputs among which are rows of which nothing was left: a first kernel looks for
// such rows, and the others take the outputs for logits whose logsumexp it has written.
#pragma once

#include "cuda/common/launch.h"
#include "numerics/problem.h"

namespace wr::cuda {

struct EmptyRowsArguments {
    SoftmaxBackwardProblem problem;
    void *logsumexp; // [rows]: 0, or -infinity where nothing was left
};

// Bytes of memory for that; 0 where the call has no use for it.
std::size_t empty_rows_bytes(const SoftmaxBackwardProblem &problem);

// The same problem with what the kernel writes to `logsumexp`, without the caller's first bytes of workspace: from
// logits, or, where gradients have a scale, which is not these logits' own, from outputs that have a logsumexp.
SoftmaxBackwardProblem from_logarithms(const SoftmaxBackwardProblem &problem, void *logsumexp);

cudaError_t launch_empty_rows(const SoftmaxBackwardProblem &problem, void *logsumexp, cudaStream_t stream);

const void *empty_rows_kernel();

} // namespace wr::cuda
