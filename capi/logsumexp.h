// A logsumexp asked for as a reduction is a softmax of which nothing but the logsumexp is wanted.
#pragma once

#include "numerics/problem.h"

namespace wr::capi {

SoftmaxProblem logsumexp_of(const ReduceProblem &problem);
SoftmaxProblem logsumexp_of(const SegmentsProblem &problem);

} // namespace wr::capi
