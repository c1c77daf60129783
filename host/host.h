// The host device: the same jobs, done by the CPU's cores before the call returns.
//
// Called with checked problems; thread-safe; needs no workspace and allocates no memory that grows with the job.
#pragma once

#include "numerics/problem.h"
#include "numerics/status.h"

namespace wr::host {

Status reduce(const ReduceProblem &problem);
Status softmax(const SoftmaxProblem &problem);

} // namespace wr::host
