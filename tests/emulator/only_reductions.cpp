// The parts of the GPU's side that are not emulated: their kernels need words of the GPU that the emulator lacks.
#include "cuda/gpu.h"

namespace wr::cuda {

namespace {

constexpr auto not_emulated = static_cast<std::int32_t>(Status::unsupported);

} // namespace

std::int32_t softmax(const SoftmaxProblem &, void *) { return not_emulated; }
std::int32_t softmax_general(const SoftmaxProblem &, void *) { return not_emulated; }
std::int32_t softmax_backward(const SoftmaxBackwardProblem &, void *) { return not_emulated; }
std::int32_t tile_reduce(const TileReduceProblem &, void *) { return not_emulated; }
std::int32_t tile_shuffle(const TileShuffleProblem &, void *) { return not_emulated; }
std::int32_t tile_vote(const TileVoteProblem &, void *) { return not_emulated; }
std::int32_t tile_match(const TileMatchProblem &, void *) { return not_emulated; }
std::size_t softmax_workspace_bytes(const SoftmaxProblem &) { return 0; }
std::size_t softmax_general_workspace_bytes(const SoftmaxProblem &) { return 0; }
std::size_t softmax_backward_workspace_bytes(const SoftmaxBackwardProblem &) { return 0; }

} // namespace wr::cuda
