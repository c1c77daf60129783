#include "cuda/softmax_backward/empty_rows.h"

#include "cuda/rowwise/strided_arguments.h"
#include "numerics/element_types.h"

#include <algorithm>

namespace wr::cuda {

namespace {

// So that what is behind it in a workspace stays on every boundary.
constexpr std::size_t memory_step = 256;

} // namespace

std::size_t empty_rows_bytes(const SoftmaxBackwardProblem &p) {
    const bool from_logits = p.input != nullptr; // a query has neither
    if (!p.log || !p.empty_row_zero || from_logits) {
        return 0;
    }
    const std::size_t bytes = p.shape.outer * p.shape.inner * traits_of(state_type(p.dtype)).size;
    return divide_up(bytes, memory_step) * memory_step;
}

SoftmaxBackwardProblem from_logarithms(const SoftmaxBackwardProblem &problem, void *logsumexp) {
    const std::size_t bytes = empty_rows_bytes(problem);
    SoftmaxBackwardProblem p = problem;
    p.logsumexp = logsumexp;
    if (p.scale == 1 && p.scales == nullptr) {
        p.input = p.output;
        p.output = nullptr;
    }
    p.workspace_bytes -= std::min(bytes, p.workspace_bytes);
    p.workspace = p.workspace_bytes == 0 ? nullptr : static_cast<char *>(p.workspace) + bytes;
    return p;
}

cudaError_t launch_empty_rows(const SoftmaxBackwardProblem &problem, void *logsumexp, cudaStream_t stream) {
    EmptyRowsArguments a{problem, logsumexp};
    const std::size_t rows = problem.shape.outer * problem.shape.inner;
    return launch({.kernel = empty_rows_kernel(),
                   .blocks = std::min(divide_up(rows, std::size_t{strided_block_warps}), most_blocks),
                   .threads = strided_block_threads},
                  &a, stream);
}

} // namespace wr::cuda
