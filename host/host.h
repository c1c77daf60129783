// The host device: the same jobs, done by the CPU's cores before the call returns.
//
// Called with checked problems; thread-safe; needs no workspace and allocates no memory that grows with the job.
#pragma once

#include "numerics/problem.h"
#include "numerics/softmax_piece.h"
#include "numerics/state_problem.h"
#include "numerics/status.h"
#include "numerics/tiles.h"

namespace wr::host {

Status reduce(const ReduceProblem &problem);
Status exact_sum(const ReduceProblem &problem);
Status reduce_segments(const SegmentsProblem &problem);
Status softmax(const SoftmaxProblem &problem);
Status softmax_backward(const SoftmaxBackwardProblem &problem);
Status softmax_state(const SoftmaxStateProblem &problem);
Status merge_softmax_states(const SoftmaxMergeProblem &problem);
Status finish_softmax_state(const SoftmaxFinishProblem &problem);
Status softmax_from_state(const SoftmaxFromStateProblem &problem);

Status reduce_state(const StateReduceProblem &problem);
Status merge_states(const StateMergeProblem &problem);
Status finish_state(const StateFinishProblem &problem);

Status tile_reduce(const TileReduceProblem &problem);
Status tile_shuffle(const TileShuffleProblem &problem);
Status tile_vote(const TileVoteProblem &problem);
Status tile_match(const TileMatchProblem &problem);

// The most threads that a call of any thread uses, the calling one included; 0: as many as there are cores. Gives what
// was set before. Until it is set the environment variables WARP_REDUCE_THREADS, or else OMP_NUM_THREADS, count, as the
// first call that asks finds them.
std::size_t set_most_threads(std::size_t most);

// How many threads a call of the calling thread uses at most, itself included.
std::size_t most_threads();

} // namespace wr::host
