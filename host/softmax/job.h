// A softmax as its kernels are told of it.
#pragma once

#include "host/common/vector_kernels.h"

namespace wr::host {

// Whether rows are runs of neighbours that are computed one at a time: ragged ones, long ones and few.
bool are_lone_rows(const SoftmaxProblem &problem);

// Of whole rows. Those of a piece have axis_first beside it.
SoftmaxJob softmax_job(const SoftmaxProblem &problem, const SoftmaxKernel &kernel, std::size_t threads);

} // namespace wr::host
