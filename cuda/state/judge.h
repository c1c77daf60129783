// The first kernel of every job on states: whether those that it reads are what the arguments say. Plain data: host and
// GPU share it.
#pragma once

#include "numerics/state.h"

namespace wr::cuda {

inline constexpr int most_judged_states = 3;

struct JudgeArguments {
    std::int32_t count;
    const void *stored[most_judged_states];
    StateHeader expected[most_judged_states];
    void *written; // the state that is made, or nullptr: this header, or, where one is refused, that of none
    StateHeader header;
    std::int32_t *check;   // the caller's, or nullptr
    std::int32_t *verdict; // for the job's other kernels, or nullptr: not 0 where one is refused
};

// A block of one warp.
const void *judge_states_kernel();

// Copies the payload of a state, words of 4 bytes.
struct CopyStateArguments {
    const std::uint32_t *from;
    std::uint32_t *to;
    std::uint64_t words;
};

inline constexpr int copy_state_threads = 256;
const void *copy_state_kernel();

} // namespace wr::cuda
