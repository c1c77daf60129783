// The jobs of host.h with the choices made: which variant of the kernels, and how many threads.
#pragma once

#include "host/common/vector_kernels.h"
#include "numerics/status.h"

namespace wr::host {

Status run_reduce(const ReduceProblem &problem, const Kernels &kernels, std::size_t threads);
Status run_exact_sum(const ReduceProblem &problem, const Kernels &kernels, std::size_t threads);
Status run_segments(const SegmentsProblem &problem, const Kernels &kernels, std::size_t threads);
Status run_softmax(const SoftmaxProblem &problem, const Kernels &kernels, std::size_t threads);
Status run_softmax_backward(const SoftmaxBackwardProblem &problem, const Kernels &kernels, std::size_t threads);

} // namespace wr::host
