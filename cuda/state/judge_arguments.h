// Whether the states that a job reads are what its arguments say. Plain data: host and GPU share it.
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
    std::int32_t *verdict; // for the job's later kernels, or nullptr: not 0 where one is refused
};

} // namespace wr::cuda
