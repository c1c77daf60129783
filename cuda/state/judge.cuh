// The beginning of every job on states of softmax.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/state/judge_arguments.h"

namespace wr::cuda {

// By all threads of a block, whether no state is refused. Every block looks for itself; the first one tells others.
__device__ __forceinline__ bool are_accepted(const JudgeArguments &a) {
    __shared__ Status verdict;
    if (warp_index() == 0) {
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
    __syncthreads();
    return verdict == Status::success;
}

} // namespace wr::cuda
