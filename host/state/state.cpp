// States of reductions: a reduction for each node of a piece, and what becomes of the nodes.
#include "host/common/float_environment.h"
#include "host/common/parallel.h"
#include "host/common/run.h"
#include "host/host.h"

#include <algorithm>
#include <cstring>

namespace wr::host {

namespace {

// Outputs that a thread takes at a time, and those of them whose accumulators are merged side by side.
constexpr std::size_t outputs_of_task = 4096, outputs_of_tile = 512;

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

// work(begin, end) for all outputs, on the cores that moving so many bytes is worth.
template <class Work>
void for_each_task(std::size_t outputs, std::uint64_t bytes, Work work) {
    const FloatEnvironment environment;
    parallel_for(divide_up(outputs, outputs_of_task), threads_for(bytes), [&](std::size_t task) {
        work(task * outputs_of_task, std::min((task + 1) * outputs_of_task, outputs));
    });
}

// work(at) for every output.
template <class Work>
void for_each_output(const StateFormat &format, std::uint64_t bytes, Work work) {
    const std::size_t outputs = format.outputs();
    for_each_task(outputs, bytes, [&](std::size_t begin, std::size_t end) {
        for (std::size_t output = begin; output < end; ++output) {
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

// merge_output of neighbouring outputs, node by node: each node's accumulators lie side by side.
template <class Op>
class TileMerge {
  public:
    TileMerge(const NodeMerge &merge, std::size_t outputs, const StateMergeProblem &problem)
        : merge_(merge), outputs_(outputs), left_(elements(problem.left_state)), right_(elements(problem.right_state)),
          merged_(elements(problem.merged)) {}

    void run(std::size_t output, std::size_t count) const {
        if (merge_.left != 0) {
            join(output, count);
        }
        if (left_ != merged_) {
            copy(left_, 0, 0, merge_.before, output, count);
        }
        copy(right_, merge_.right, merge_.merged() - merge_.after, merge_.after, output, count);
    }

  private:
    using Accumulator = typename Op::Accumulator;
    using Element = StateElement<Op>;

    static Element *elements(const void *state) {
        return static_cast<Element *>(const_cast<void *>(payload_of(state)));
    }
    std::size_t place(int node, std::size_t output) const { return static_cast<std::size_t>(node) * outputs_ + output; }

    void join(std::size_t output, std::size_t count) const {
        int next_left = merge_.before + merge_.left, next_right = 0;
        Accumulator joined[outputs_of_tile];
        const std::size_t beside = place(next_right++, output);
        for (std::size_t i = 0; i < count; ++i) {
            joined[i] = load_node<Op>(right_, beside + i);
        }
        std::uint64_t place_of_next = merge_.meeting | 1u; // the first one is from the left
        for (int level = merge_.left + merge_.right; level > 1; --level, place_of_next >>= 1) {
            const bool from_left = (place_of_next & 1u) != 0;
            const std::size_t next = place(from_left ? --next_left : next_right++, output);
            for (std::size_t i = 0; i < count; ++i) {
                joined[i] = from_left ? combined<Op>(load_node<Op>(left_, next + i), joined[i])
                                      : combined<Op>(joined[i], load_node<Op>(right_, next + i));
            }
        }
        const std::size_t into = place(merge_.before, output);
        for (std::size_t i = 0; i < count; ++i) {
            store_node(joined[i], merged_, into + i);
        }
    }

    void copy(const Element *from, int first, int into, int nodes, std::size_t output, std::size_t count) const {
        for (int node = 0; node < nodes; ++node) {
            std::memcpy(merged_ + place(into + node, output), from + place(first + node, output),
                        count * sizeof(Element));
        }
    }

    NodeMerge merge_;
    std::size_t outputs_;
    const Element *left_, *right_;
    Element *merged_;
};

void merge_nodes(const StateMergeProblem &problem, const Piece &whole) {
    const NodeMerge merge = merge_of(problem.format, problem.left, problem.right);
    const std::size_t outputs = problem.format.outputs();
    with_state_kind(problem.format.kind, [&]<class Op>(Op) {
        const TileMerge<Op> tiles(merge, outputs, problem);
        for_each_task(outputs, payload_bytes(problem.format, whole), [&](std::size_t begin, std::size_t end) {
            for (std::size_t output = begin; output < end; output += outputs_of_tile) {
                tiles.run(output, std::min(outputs_of_tile, end - output));
            }
        });
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
