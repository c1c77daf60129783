// The GPU's side in a library that was built for the host device alone: it says so.
#include "cuda/gpu.h"

namespace wr::cuda {

namespace {
constexpr std::int32_t no_cuda = static_cast<std::int32_t>(Status::no_cuda);
}

std::int32_t reduce(const ReduceProblem &, void *) { return no_cuda; }
std::int32_t exact_sum(const ReduceProblem &, void *) { return no_cuda; }
std::int32_t reduce_segments(const SegmentsProblem &, void *) { return no_cuda; }
std::int32_t softmax(const SoftmaxProblem &, void *) { return no_cuda; }
std::int32_t logsumexp(const SoftmaxProblem &, void *) { return no_cuda; }
std::int32_t softmax_backward(const SoftmaxBackwardProblem &, void *) { return no_cuda; }
std::int32_t softmax_state(const SoftmaxStateProblem &, void *) { return no_cuda; }
std::int32_t merge_softmax_states(const SoftmaxMergeProblem &, void *) { return no_cuda; }
std::int32_t finish_softmax_state(const SoftmaxFinishProblem &, void *) { return no_cuda; }
std::int32_t softmax_from_state(const SoftmaxFromStateProblem &, void *) { return no_cuda; }
std::int32_t reduce_state(const StateReduceProblem &, void *) { return no_cuda; }
std::int32_t merge_states(const StateMergeProblem &, void *) { return no_cuda; }
std::int32_t finish_state(const StateFinishProblem &, void *) { return no_cuda; }
std::int32_t tile_reduce(const TileReduceProblem &, void *) { return no_cuda; }
std::int32_t tile_shuffle(const TileShuffleProblem &, void *) { return no_cuda; }
std::int32_t tile_vote(const TileVoteProblem &, void *) { return no_cuda; }
std::int32_t tile_match(const TileMatchProblem &, void *) { return no_cuda; }
std::int32_t take_memory(std::size_t, void *, void **) { return no_cuda; }
std::int32_t give_memory_back(void *, void *) { return no_cuda; }
std::size_t reduce_workspace_bytes(const ReduceProblem &) { return 0; }
std::size_t exact_sum_workspace_bytes(const ReduceProblem &) { return 0; }
std::size_t segments_workspace_bytes(const SegmentsProblem &) { return 0; }
std::size_t state_workspace_bytes(const StateReduceProblem &) { return 0; }
std::size_t softmax_workspace_bytes(const SoftmaxProblem &) { return 0; }
std::size_t logsumexp_workspace_bytes(const SoftmaxProblem &) { return 0; }
std::size_t softmax_state_workspace_bytes(const SoftmaxProblem &, std::uint64_t) { return 0; }
std::size_t softmax_backward_workspace_bytes(const SoftmaxBackwardProblem &) { return 0; }
std::int32_t status() { return no_cuda; }
const char *error_name(std::int32_t) { return nullptr; }
const char *error_string(std::int32_t) { return nullptr; }

} // namespace wr::cuda
