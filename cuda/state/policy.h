// The tuning numbers of states of softmax: one set for each architecture that was measured, plain ones for the others.
// No bit depends on them.
#pragma once

#include "cuda/common/gpu_facts.h"

#include <cstddef>

namespace wr::cuda {

// The figures are an H200's, us by the rule and, behind the semicolon, without it. "A multiprocessor": as many for
// each.
struct SoftmaxStatePolicy {
    // Warps a multiprocessor that are enough: as long as so many have work, each takes base blocks one after the other.
    // Twice what one holds.
    std::size_t group_warps = 128;

    // A state of few rows in one launch, a block each: warps a multiprocessor at most (64 x 18992 f32 5.0; 8.9, 200 x
    // 18992 10.3; 11.7). Up to the second of blocks a multiprocessor each run of a row has one (8 x 18992 3.4; 5.1, but
    // 128 x 16032 6.9; 5.7).
    std::size_t few_row_warps = 16;
    std::size_t run_blocks = 2;

    // Outputs of few rows in one launch: base blocks a multiprocessor at most, cut ones too, by so many blocks of
    // threads a multiprocessor (64 x 18992 f32 8.6; 11.5, 128 x 16032 13.6; 16.9).
    std::size_t few_output_blocks = 11;
    std::size_t few_output_parts = 2;
};

inline constexpr SoftmaxStatePolicy plain_softmax_state_policy{};
inline constexpr SoftmaxStatePolicy h200_softmax_state_policy{.few_row_warps = 40, .few_output_blocks = 32};

inline const SoftmaxStatePolicy &softmax_state_policy(const GpuFacts &gpu) {
    return gpu.compute_major == 9 ? h200_softmax_state_policy : plain_softmax_state_policy;
}

} // namespace wr::cuda
