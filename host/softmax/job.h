// A softmax as its kernels are told of it.
#pragma once

#include "host/common/vector_kernels.h"

namespace wr::host {

// Whether rows lie in memory as one run of neighbours each, long enough to be computed one at a time.
bool is_lone_row(const Shape &shape);

// Of whole rows. Those of a piece have axis_first beside it.
SoftmaxJob softmax_job(const SoftmaxProblem &problem, const SoftmaxKernel &kernel, std::size_t threads);

} // namespace wr::host
