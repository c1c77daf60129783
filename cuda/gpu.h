// The GPU's side of the library, as capi/ sees it. Needs no CUDA header.
//
// Every function is called with checked problems, is thread-safe, keeps the caller's current device and last CUDA
// error, never synchronises, and reports Status values or cuda_error_base + the runtime's error. `stream` is a
// cudaStream_t.
#pragma once

#include "numerics/problem.h"
#include "numerics/softmax_piece.h"
#include "numerics/state_problem.h"
#include "numerics/status.h"
#include "numerics/tiles.h"

namespace wr::cuda {

// Puts the job on the stream. A workspace that is given holds at least ..._workspace_bytes and is 16-byte aligned.
std::int32_t reduce(const ReduceProblem &problem, void *stream);
std::int32_t exact_sum(const ReduceProblem &problem, void *stream);
std::int32_t reduce_segments(const SegmentsProblem &problem, void *stream);
std::int32_t softmax(const SoftmaxProblem &problem, void *stream);
std::int32_t logsumexp(const SoftmaxProblem &problem, void *stream); // of which nothing else is wanted
std::int32_t softmax_backward(const SoftmaxBackwardProblem &problem, void *stream);
std::int32_t softmax_state(const SoftmaxStateProblem &problem, void *stream);
std::int32_t merge_softmax_states(const SoftmaxMergeProblem &problem, void *stream);
std::int32_t finish_softmax_state(const SoftmaxFinishProblem &problem, void *stream);
std::int32_t softmax_from_state(const SoftmaxFromStateProblem &problem, void *stream);
std::int32_t reduce_state(const StateReduceProblem &problem, void *stream);
std::int32_t merge_states(const StateMergeProblem &problem, void *stream);
std::int32_t finish_state(const StateFinishProblem &problem, void *stream);
std::int32_t tile_reduce(const TileReduceProblem &problem, void *stream);
std::int32_t tile_shuffle(const TileShuffleProblem &problem, void *stream);
std::int32_t tile_vote(const TileVoteProblem &problem, void *stream);
std::int32_t tile_match(const TileMatchProblem &problem, void *stream);

// Memory of the stream's GPU from the library's own pool, and back behind what is on the stream by then.
std::int32_t take_memory(std::size_t bytes, void *stream, void **memory);
std::int32_t give_memory_back(void *memory, void *stream);

// Bytes of workspace that suffice on every GPU; a function of the problem alone, pointers not looked at.
std::size_t reduce_workspace_bytes(const ReduceProblem &problem);
std::size_t exact_sum_workspace_bytes(const ReduceProblem &problem);
std::size_t segments_workspace_bytes(const SegmentsProblem &problem);
std::size_t state_workspace_bytes(const StateReduceProblem &problem);
std::size_t softmax_workspace_bytes(const SoftmaxProblem &problem);
std::size_t logsumexp_workspace_bytes(const SoftmaxProblem &problem);
std::size_t softmax_state_workspace_bytes(const SoftmaxProblem &piece, std::uint64_t first);
std::size_t softmax_backward_workspace_bytes(const SoftmaxBackwardProblem &problem);

// Whether this thread's current device can run the library's kernels, or what is missing.
std::int32_t status();

// The CUDA runtime's own name and sentence for one of its errors; nullptr in a build without CUDA.
const char *error_name(std::int32_t cuda_error);
const char *error_string(std::int32_t cuda_error);

} // namespace wr::cuda
