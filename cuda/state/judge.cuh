// The beginning of every job on states of softmax.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/state/softmax_arguments.h"

namespace wr::cuda {

// By one warp of a block: why a state is refused, or success. Every block looks for itself; the first one tells others.
__device__ __forceinline__ void judge_states(const JudgeArguments &a, Status &verdict) {
    Status own = Status::success;
    if (lane_index() < a.count) {
        own = judge(*static_cast<const StateHeader *>(a.stored[lane_index()]), a.expected[lane_index()]);
    }
    const unsigned refused = __ballot_sync(whole_warp, own != Status::success);
    const int first = refused == 0 ? 0 : __ffs(static_cast<int>(refused)) - 1;
    const auto found = static_cast<std::int32_t>(__shfl_sync(whole_warp, static_cast<int>(own), first));
    if (lane_index() == 0) {
        verdict = static_cast<Status>(found);
        if (blockIdx.x == 0 && a.written != nullptr) {
            *static_cast<StateHeader *>(a.written) = found == 0 ? a.header : refused_header();
        }
        if (blockIdx.x == 0 && a.check != nullptr) {
            *a.check = found;
        }
        if (blockIdx.x == 0 && a.verdict != nullptr) {
            *a.verdict = found;
        }
    }
}

// Whether the last warp of the block judges: beside it the others begin with what is written only after a verdict.
__device__ __forceinline__ bool is_judge() { return warp_index() == static_cast<int>(blockDim.x) / warp_lanes - 1; }

} // namespace wr::cuda
