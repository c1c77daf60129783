#include "capi/logsumexp.h"

namespace wr::capi {

namespace {

template <class Problem>
SoftmaxProblem of_any(const Problem &problem, const Shape &shape) {
    SoftmaxProblem softmax{};
    softmax.dtype = problem.what.dtype;
    softmax.output_dtype = problem.what.dtype;
    softmax.scale = 1.0;
    softmax.input = problem.input;
    softmax.logsumexp = problem.output;
    softmax.logsumexp_dtype = problem.what.output_dtype;
    softmax.shape = shape;
    softmax.workspace = problem.workspace;
    softmax.workspace_bytes = problem.workspace_bytes;
    return softmax;
}

} // namespace

SoftmaxProblem logsumexp_of(const ReduceProblem &problem) { return of_any(problem, problem.shape); }

SoftmaxProblem logsumexp_of(const SegmentsProblem &problem) {
    const auto elements = static_cast<std::ptrdiff_t>(problem.input_count);
    SoftmaxProblem softmax = of_any(problem, {problem.segments, problem.input_count, 1, elements, 1, 1});
    softmax.selection.ragged = true;
    softmax.selection.offsets = problem.offsets;
    softmax.selection.offsets_type = problem.offsets_type;
    return softmax;
}

} // namespace wr::capi
