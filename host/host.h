// The host device: the same jobs, done by the CPU's cores before the call returns.
//
// Called with checked problems; thread-safe; needs no workspace and allocates no memory that grows with the job.
#pragma once

#include "numerics/problem.h"
#include "numerics/status.h"
#include "numerics/tiles.h"

namespace wr::host {

Status reduce(const ReduceProblem &problem);
Status reduce_segments(const SegmentsProblem &problem);
Status softmax(const SoftmaxProblem &problem);
Status softmax_backward(const SoftmaxBackwardProblem &problem);

Status tile_reduce(const TileReduceProblem &problem);
Status tile_shuffle(const TileShuffleProblem &problem);
Status tile_vote(const TileVoteProblem &problem);
Status tile_match(const TileMatchProblem &problem);

} // namespace wr::host
