// States of reductions: a reduction for each node of a piece, and what becomes of the nodes.
#include "host/common/float_environment.h"
#include "host/common/parallel.h"
#include "host/common/run.h"
#include "host/host.h"

#include <algorithm>
#include <cstring>

namespace wr::host {

namespace {

// Outputs that a thread takes at a time.
constexpr std::size_t outputs_of_task = 4096;

Status reduce_node(const StateFormat &format, ReduceProblem node, void *accumulators) {
    node.output = accumulators;
    return format.kind == StateKind::exact ? exact_words_of(node) : reduce_to_accumulators(node);
}

void move_places(const StateReduceProblem &problem) {
    void *nodes = payload_of(problem.state);
    const std::uint64_t outputs = nodes_of(problem.format, piece_of(problem)) * problem.format.outputs();
    for (std::uint64_t index = 0; index < outputs; ++index) {
        if (problem.format.kind == StateKind::place_32) {
            move_place<std::int32_t>(nodes, index, problem.first);
        } else {
            move_place<std::int64_t>(nodes, index, problem.first);
        }
    }
}

Status judge_state(const void *state, const StateFormat &format, const Piece &piece) {
    StateHeader stored;
    std::memcpy(&stored, state, sizeof stored);
    return judge(stored, header_of(format, piece));
}

void store_header(void *state, const StateHeader &header) { std::memcpy(state, &header, sizeof header); }

Status report(Status status, std::int32_t *check) {
    if (check != nullptr) {
        *check = static_cast<std::int32_t>(status);
    }
    return status;
}

// work(at) for every output, on the cores that moving so many bytes is worth.
template <class Work>
void for_each_output(const StateFormat &format, std::uint64_t bytes, Work work) {
    const std::size_t outputs = format.outputs(), tasks = divide_up(outputs, outputs_of_task);
    const FloatEnvironment environment;
    parallel_for(tasks, threads_for(bytes), [&](std::size_t task) {
        const std::size_t end = std::min((task + 1) * outputs_of_task, outputs);
        for (std::size_t output = task * outputs_of_task; output < end; ++output) {
            work(StateOutput{output, outputs});
        }
    });
}

void merge_exactly(const StateMergeProblem &problem) {
    const auto *left = static_cast<const std::int64_t *>(payload_of(problem.left_state));
    const auto *right = static_cast<const std::int64_t *>(payload_of(problem.right_state));
    auto *merged = static_cast<std::int64_t *>(payload_of(problem.merged));
    const ExactLayout layout = problem.format.exact();
    for_each_output(problem.format, payload_bytes(problem.format, {}), [&](const StateOutput &at) {
        const std::size_t words = at.output * static_cast<std::size_t>(exact_words(layout));
        merge_exact_output(left + words, right + words, merged + words, layout);
    });
}

void merge_nodes(const StateMergeProblem &problem, const Piece &whole) {
    const NodeMerge merge = merge_of(problem.format, problem.left, problem.right);
    const void *left = payload_of(problem.left_state), *right = payload_of(problem.right_state);
    void *merged = payload_of(problem.merged);
    with_state_kind(problem.format.kind, [&]<class Op>(Op) {
        for_each_output(problem.format, payload_bytes(problem.format, whole),
                        [&](const StateOutput &at) { merge_output<Op>(merge, at, left, right, merged); });
    });
}

void finish_exactly(const StateFinishProblem &problem) {
    const auto *state = static_cast<const std::int64_t *>(payload_of(problem.state));
    const ExactLayout layout = problem.format.exact();
    for_each_output(problem.format, payload_bytes(problem.format, {}), [&](const StateOutput &at) {
        finish_exact_output(state + at.output * static_cast<std::size_t>(exact_words(layout)), layout,
                            problem.format.what.output_dtype, problem.output, at.output);
    });
}

void finish_nodes(const StateFinishProblem &problem) {
    const Piece whole{0, problem.count};
    const Finish finish = finish_of(problem.format.what, problem.count, problem.values);
    const int nodes = static_cast<int>(nodes_of(problem.format, whole));
    with_state_kind(problem.format.kind, [&]<class Op>(Op) {
        for_each_output(problem.format, payload_bytes(problem.format, whole), [&](const StateOutput &at) {
            finish_output<Op>(nodes, at, payload_of(problem.state), finish, problem.output);
        });
    });
}

} // namespace

Status reduce_state(const StateReduceProblem &problem) {
    const auto reduce_one = [&](const ReduceProblem &node, void *accumulators) {
        return reduce_node(problem.format, node, accumulators);
    };
    const Status status = problem.format.kind == StateKind::exact
                              ? reduce_one(problem.reduce, payload_of(problem.state))
                              : for_each_node(problem, Status::success, reduce_one);
    if (status != Status::success) {
        return status;
    }
    if (problem.format.kind == StateKind::place_32 || problem.format.kind == StateKind::place_64) {
        move_places(problem);
    }
    store_header(problem.state, header_of(problem.format, piece_of(problem)));
    return report(Status::success, problem.check);
}

Status merge_states(const StateMergeProblem &problem) {
    Status status = judge_state(problem.left_state, problem.format, problem.left);
    if (status == Status::success) {
        status = judge_state(problem.right_state, problem.format, problem.right);
    }
    if (status != Status::success) {
        return report(status, problem.check);
    }
    const Piece whole{problem.left.first, problem.left.count + problem.right.count};
    if (problem.format.kind == StateKind::exact) {
        merge_exactly(problem);
    } else {
        merge_nodes(problem, whole);
    }
    store_header(problem.merged, header_of(problem.format, whole));
    return report(Status::success, problem.check);
}

Status finish_state(const StateFinishProblem &problem) {
    const Status status = judge_state(problem.state, problem.format, {0, problem.count});
    if (status != Status::success) {
        return report(status, problem.check);
    }
    if (problem.format.kind == StateKind::exact) {
        finish_exactly(problem);
    } else {
        finish_nodes(problem);
    }
    return report(Status::success, problem.check);
}

} // namespace wr::host
