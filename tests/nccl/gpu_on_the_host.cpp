// The GPU's side of the library played by the host device, for what is put on a stream out of several jobs. Memory on
// the stream is ordinary memory, and jobs are done at once, or recorded; that the bytes of a state are wrong is told as
// a GPU tells it.
#include "nccl/gpu_on_the_host.h"

#include "cuda/gpu.h"
#include "host/host.h"
#include "numerics/state.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

struct played_graph {
    std::vector<std::function<void()>> jobs;
    std::vector<void *> blocks; // memory of the graph
};

namespace {

std::atomic<std::size_t> taken_blocks = 0, launched_jobs = 0; // of several threads, in programs that open it
bool memory_is_short = false;
thread_local played_graph *recorded = nullptr;

constexpr std::int32_t number_of(wr::Status status) { return static_cast<std::int32_t>(status); }
constexpr std::int32_t success = number_of(wr::Status::success), not_played = number_of(wr::Status::internal);

void put(std::function<void()> job) {
    if (recorded != nullptr) {
        recorded->jobs.push_back(std::move(job));
    } else {
        job();
    }
}

// The problem is copied, as a kernel's arguments are: what the caller does with his afterwards is not seen.
template <class Problem>
std::int32_t launch(wr::Status (*on_host)(const Problem &), const Problem &problem, std::int32_t *check,
                    void *merged = nullptr) {
    put([=] {
        const wr::Status status = on_host(problem);
        ++launched_jobs;
        if (status != wr::Status::success && merged != nullptr) {
            std::memset(merged, 0, wr::state_header_bytes); // no state
        }
        if (check != nullptr) {
            *check = number_of(status);
        }
    });
    return success;
}

void fill(void *memory, int byte, std::size_t bytes) {
    put([=] { std::memset(memory, byte, bytes); });
}

} // namespace

size_t played_gpu_blocks(void) { return taken_blocks; }
size_t played_gpu_jobs(void) { return launched_jobs; }
void played_gpu_has_memory(int32_t any) { memory_is_short = any == 0; }
void played_gpu_records(void) { recorded = new played_graph; }
played_graph *played_gpu_recorded(void) { return std::exchange(recorded, nullptr); }
int32_t played_gpu_put(void (*run)(const void *job), const void *job, size_t bytes) {
    if (recorded == nullptr) {
        return 0;
    }
    const auto *begin = static_cast<const unsigned char *>(job);
    put([run, copy = std::vector<unsigned char>(begin, begin + bytes)] { run(copy.data()); });
    return 1;
}
void played_gpu_replays(const played_graph *graph) {
    for (const auto &job : graph->jobs) {
        job();
    }
}
void played_gpu_forgets(played_graph *graph) {
    for (void *block : graph->blocks) {
        std::free(block);
        --taken_blocks;
    }
    delete graph;
}

namespace wr::cuda {

std::int32_t reduce_state(const StateReduceProblem &problem, void *) {
    return launch(host::reduce_state, problem, problem.check);
}
std::int32_t merge_states(const StateMergeProblem &problem, void *) {
    return launch(host::merge_states, problem, problem.check, problem.merged);
}
std::int32_t finish_state(const StateFinishProblem &problem, void *) {
    return launch(host::finish_state, problem, problem.check);
}
std::int32_t softmax_state(const SoftmaxStateProblem &problem, void *) {
    return launch(host::softmax_state, problem, problem.check);
}
std::int32_t merge_softmax_states(const SoftmaxMergeProblem &problem, void *) {
    return launch(host::merge_softmax_states, problem, problem.check, problem.merged.bytes);
}
std::int32_t finish_softmax_state(const SoftmaxFinishProblem &problem, void *) {
    return launch(host::finish_softmax_state, problem, problem.check);
}
std::int32_t softmax_from_state(const SoftmaxFromStateProblem &problem, void *) {
    return launch(host::softmax_from_state, problem, problem.check);
}

std::int32_t take_memory(std::size_t bytes, void *, void **memory) {
    *memory = memory_is_short ? nullptr : std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (*memory == nullptr) {
        return number_of(Status::out_of_memory);
    }
    fill(*memory, 0xA5, bytes);
    ++taken_blocks;
    if (recorded != nullptr) {
        recorded->blocks.push_back(*memory);
    }
    return success;
}
std::int32_t give_memory_back(void *memory, void *) {
    if (recorded == nullptr) {
        std::free(memory);
        --taken_blocks;
    }
    return success;
}

std::int32_t reduce(const ReduceProblem &problem, void *) { return launch(host::reduce, problem, nullptr); }
std::int32_t exact_sum(const ReduceProblem &problem, void *) { return launch(host::exact_sum, problem, nullptr); }
std::int32_t reduce_segments(const SegmentsProblem &, void *) { return not_played; }
std::int32_t softmax(const SoftmaxProblem &problem, void *) { return launch(host::softmax, problem, nullptr); }
std::int32_t logsumexp(const SoftmaxProblem &problem, void *) { return launch(host::softmax, problem, nullptr); }
std::int32_t softmax_backward(const SoftmaxBackwardProblem &, void *) { return not_played; }
std::int32_t tile_reduce(const TileReduceProblem &, void *) { return not_played; }
std::int32_t tile_shuffle(const TileShuffleProblem &, void *) { return not_played; }
std::int32_t tile_vote(const TileVoteProblem &, void *) { return not_played; }
std::int32_t tile_match(const TileMatchProblem &, void *) { return not_played; }
std::size_t reduce_workspace_bytes(const ReduceProblem &) { return 0; }
std::size_t exact_sum_workspace_bytes(const ReduceProblem &) { return 0; }
std::size_t segments_workspace_bytes(const SegmentsProblem &) { return 0; }
std::size_t state_workspace_bytes(const StateReduceProblem &) { return 48; }
std::size_t softmax_workspace_bytes(const SoftmaxProblem &) { return 0; }
std::size_t logsumexp_workspace_bytes(const SoftmaxProblem &) { return 0; }
std::size_t softmax_state_workspace_bytes(const SoftmaxProblem &, std::uint64_t) { return 48; }
std::size_t softmax_backward_workspace_bytes(const SoftmaxBackwardProblem &) { return 0; }
std::int32_t status() { return success; }
const char *error_name(std::int32_t) { return nullptr; }
const char *error_string(std::int32_t) { return nullptr; }

} // namespace wr::cuda
