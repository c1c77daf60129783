// What the kernels of states are launched with. Plain data: host and GPU share it.
#pragma once

#include "cuda/state/judge.h"
#include "numerics/state_problem.h"

namespace wr::cuda {

inline constexpr int state_threads = 256;

// The accumulators of all nodes are there; the header is not.
struct StateSealArguments {
    StateHeader header;
    void *state;
    std::int32_t *check;
    StateKind kind;
    ExactLayout layout;
    std::uint64_t accumulators; // exact sums: outputs
    std::uint64_t first;        // of the piece
};

// Every block judges the states and then merges nodes. In place, where there are several, one judges before them.
struct StateMergeArguments {
    JudgeArguments judged;
    const void *left, *right;
    void *merged;
    StateKind kind;
    ExactLayout layout;
    NodeMerge nodes;
    std::size_t outputs;
    bool judges;
};

struct StateFinishArguments {
    JudgeArguments judged;
    const void *state;
    void *output;
    StateKind kind;
    ExactLayout layout;
    ElementType output_type;
    std::int32_t nodes;
    std::size_t outputs;
    Finish finish;
};

// By their addresses.
const void *seal_state_kernel();
const void *merge_states_kernel();
const void *finish_state_kernel();

} // namespace wr::cuda
