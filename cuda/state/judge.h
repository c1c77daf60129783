// Whether the states that a job reads are what its arguments say: what the kernels that look are launched with.
#pragma once

#include "numerics/softmax_piece.h"

#include <initializer_list>

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

inline JudgeArguments judged(std::initializer_list<ExpectedState> states, const WrittenState &written,
                             std::int32_t *check, std::int32_t *verdict) {
    JudgeArguments a{};
    for (const ExpectedState &state : states) {
        if (state.bytes != nullptr) {
            a.stored[a.count] = state.bytes;
            a.expected[a.count++] = state.header;
        }
    }
    a.written = written.bytes;
    a.header = written.header;
    a.check = check;
    a.verdict = verdict;
    return a;
}

} // namespace wr::cuda
