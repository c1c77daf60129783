// The beginning of every job on states of softmax.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/state/softmax_arguments.h"

namespace wr::cuda {

// By one warp: why a state is refused, or success; in every lane.
__device__ __forceinline__ Status status_of_states(const JudgeArguments &a) {
    Status own = Status::success;
    if (lane_index() < a.count) {
        own = judge(*static_cast<const StateHeader *>(a.stored[lane_index()]), a.expected[lane_index()]);
    }
    const unsigned refused = __ballot_sync(whole_warp, own != Status::success);
    const int first = refused == 0 ? 0 : __ffs(static_cast<int>(refused)) - 1;
    return static_cast<Status>(__shfl_sync(whole_warp, static_cast<int>(own), first));
}

// The same for a block. Every block looks for itself; the first one tells others.
__device__ __forceinline__ Status judge_states(const JudgeArguments &a, Status &verdict) {
    const Status status = status_of_states(a);
    const auto found = static_cast<std::int32_t>(status);
    if (lane_index() == 0) {
        verdict = status;
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
    return status;
}

// Whether the last warp of the block judges: beside it the others begin with what is written only after a verdict.
__device__ __forceinline__ bool is_judge() { return warp_index() == static_cast<int>(blockDim.x) / warp_lanes - 1; }

} // namespace wr::cuda
