// The jobs of host.h with the choices made: which variant of the kernels, and how many threads.
#pragma once

#include "host/common/vector_kernels.h"
#include "numerics/status.h"

namespace wr::host {

// `as_state`: the output takes accumulators, or words, as a state has them, instead of results.
Status run_reduce(const ReduceProblem &problem, const Kernels &kernels, std::size_t threads, bool as_state = false);
Status run_exact_sum(const ReduceProblem &problem, const Kernels &kernels, std::size_t threads, bool as_state = false);
Status run_segments(const SegmentsProblem &problem, const Kernels &kernels, std::size_t threads);
Status run_softmax(const SoftmaxProblem &problem, const Kernels &kernels, std::size_t threads);
Status run_softmax_backward(const SoftmaxBackwardProblem &problem, const Kernels &kernels, std::size_t threads);

// Of the best kernels, with as many threads as they are worth.
Status reduce_to_accumulators(const ReduceProblem &problem);
Status exact_words_of(const ReduceProblem &problem);

} // namespace wr::host
