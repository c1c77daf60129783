#include "recording_places.h"

#include "cuda/gpu.h"
#include "host/host.h"

#include <new>

namespace recording {

Record &record() {
    static Record the_record;
    return the_record;
}

Script &script() {
    static Script the_script;
    return the_script;
}

void reset() {
    record() = {};
    script() = {};
}

namespace {

std::int32_t behave(Place place, void *stream) {
    record().called = place;
    record().stream = stream;
    ++record().calls;
    switch (script().behaviour) {
    case Behaviour::succeed:
        break;
    case Behaviour::out_of_memory:
        return static_cast<std::int32_t>(wr::Status::out_of_memory);
    case Behaviour::throw_bad_alloc:
        throw std::bad_alloc();
    case Behaviour::throw_something_else:
        throw place;
    case Behaviour::report_illegal_address:
        return wr::cuda_error_base + 700;
    }
    return static_cast<std::int32_t>(wr::Status::success);
}

} // namespace

} // namespace recording

namespace wr::host {

Status reduce(const ReduceProblem &problem) {
    recording::record().reduce = problem;
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status exact_sum(const ReduceProblem &problem) { return reduce(problem); }

Status reduce_segments(const SegmentsProblem &problem) {
    recording::record().segments = problem;
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status softmax(const SoftmaxProblem &problem) {
    recording::record().softmax = problem;
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status softmax_backward(const SoftmaxBackwardProblem &) {
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status softmax_state(const SoftmaxStateProblem &) {
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status merge_softmax_states(const SoftmaxMergeProblem &) {
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status finish_softmax_state(const SoftmaxFinishProblem &) {
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status softmax_from_state(const SoftmaxFromStateProblem &) {
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status reduce_state(const StateReduceProblem &) {
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status merge_states(const StateMergeProblem &) {
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status finish_state(const StateFinishProblem &) {
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status tile_reduce(const TileReduceProblem &) {
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status tile_shuffle(const TileShuffleProblem &) {
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status tile_vote(const TileVoteProblem &) {
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

Status tile_match(const TileMatchProblem &) {
    return static_cast<Status>(recording::behave(recording::Place::host, nullptr));
}

// The setting is not among what is recorded.
std::size_t set_most_threads(std::size_t) { return 0; }
std::size_t most_threads() { return 1; }

} // namespace wr::host

namespace wr::cuda {

std::int32_t reduce(const ReduceProblem &problem, void *stream) {
    recording::record().reduce = problem;
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t reduce_segments(const SegmentsProblem &problem, void *stream) {
    recording::record().segments = problem;
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t softmax(const SoftmaxProblem &problem, void *stream) {
    recording::record().softmax = problem;
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t exact_sum(const ReduceProblem &problem, void *stream) { return reduce(problem, stream); }

std::int32_t logsumexp(const SoftmaxProblem &problem, void *stream) {
    recording::record().softmax = problem;
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t softmax_backward(const SoftmaxBackwardProblem &, void *stream) {
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t softmax_state(const SoftmaxStateProblem &, void *stream) {
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t merge_softmax_states(const SoftmaxMergeProblem &, void *stream) {
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t finish_softmax_state(const SoftmaxFinishProblem &, void *stream) {
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t softmax_from_state(const SoftmaxFromStateProblem &, void *stream) {
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t reduce_state(const StateReduceProblem &, void *stream) {
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t merge_states(const StateMergeProblem &, void *stream) {
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t finish_state(const StateFinishProblem &, void *stream) {
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t tile_reduce(const TileReduceProblem &, void *stream) {
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t tile_shuffle(const TileShuffleProblem &, void *stream) {
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t tile_vote(const TileVoteProblem &, void *stream) {
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t tile_match(const TileMatchProblem &, void *stream) {
    return recording::behave(recording::Place::cuda, stream);
}

std::int32_t take_memory(std::size_t, void *, void **) { return static_cast<std::int32_t>(Status::out_of_memory); }
std::int32_t give_memory_back(void *, void *) { return static_cast<std::int32_t>(Status::internal); }

std::size_t reduce_workspace_bytes(const ReduceProblem &) { return recording::script().workspace_bytes; }
std::size_t segments_workspace_bytes(const SegmentsProblem &) { return recording::script().workspace_bytes; }
std::size_t softmax_workspace_bytes(const SoftmaxProblem &) { return recording::script().workspace_bytes; }
std::size_t exact_sum_workspace_bytes(const ReduceProblem &) { return recording::script().workspace_bytes; }
std::size_t logsumexp_workspace_bytes(const SoftmaxProblem &) { return recording::script().workspace_bytes; }
std::size_t softmax_backward_workspace_bytes(const SoftmaxBackwardProblem &) {
    return recording::script().workspace_bytes;
}
std::size_t state_workspace_bytes(const StateReduceProblem &) { return recording::script().workspace_bytes; }
std::size_t softmax_state_workspace_bytes(const SoftmaxProblem &, std::uint64_t) {
    return recording::script().workspace_bytes;
}
std::int32_t status() { return static_cast<std::int32_t>(Status::no_device); }
const char *error_name(std::int32_t cuda_error) { return cuda_error == 700 ? "cudaErrorIllegalAddress" : nullptr; }
const char *error_string(std::int32_t cuda_error) { return cuda_error == 700 ? "an illegal address" : nullptr; }

} // namespace wr::cuda
