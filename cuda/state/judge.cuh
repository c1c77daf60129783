// The beginning of every job that reads states: their headers are looked at.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/state/judge.h"

namespace wr::cuda {

// By one warp: why a state is refused, or success; in every lane.
__device__ __noinline__ inline Status reason_of_refusal(const JudgeArguments &a) {
    Status own = Status::success;
    if (lane_index() < a.count) {
        own = judge(*static_cast<const StateHeader *>(a.stored[lane_index()]), a.expected[lane_index()]);
    }
    const unsigned refused = __ballot_sync(whole_warp, own != Status::success);
    const int first = refused == 0 ? 0 : __ffs(static_cast<int>(refused)) - 1;
    return static_cast<Status>(__shfl_sync(whole_warp, static_cast<int>(own), first));
}

// The headers that a job reads, on their way to a warp, whose lanes have two words of them each. One that is as it
// should be is so word by word; the check word is only asked where one is not.
class StoredHeaders {
  public:
    __device__ __forceinline__ explicit StoredHeaders(const JudgeArguments &a) {
#pragma unroll
        for (int i = 0; i < words_a_lane; ++i) {
            const Place at(i);
            words_[i] = 0;
            if (at.state < a.count) {
                const auto *const from = static_cast<const std::uint64_t *>(a.stored[at.state]) + at.word;
                asm volatile("ld.global.u64 %0, [%1];" : "=l"(words_[i]) : "l"(from) : "memory");
            }
        }
    }

    __device__ __forceinline__ Status status(const JudgeArguments &a) const {
        bool same = true;
#pragma unroll
        for (int i = 0; i < words_a_lane; ++i) {
            const Place at(i);
            same = same && (at.state >= a.count ||
                            words_[i] == reinterpret_cast<const std::uint64_t *>(a.expected + at.state)[at.word]);
        }
        return __all_sync(whole_warp, same) != 0 ? Status::success : reason_of_refusal(a);
    }

  private:
    static constexpr int words_a_lane = divide_up(most_judged_states * state_header_words, warp_lanes);

    struct Place {
        int state, word;

        __device__ __forceinline__ explicit Place(int i)
            : state((i * warp_lanes + lane_index()) / state_header_words),
              word((i * warp_lanes + lane_index()) % state_header_words) {}
    };

    std::uint64_t words_[words_a_lane];
};

// The same for a block. Every block looks for itself; the first one tells others.
__device__ __forceinline__ Status judge_states(const JudgeArguments &a, const StoredHeaders &headers, Status &verdict) {
    const Status status = headers.status(a);
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
__device__ __forceinline__ void judge_states(const JudgeArguments &a, Status &verdict) {
    judge_states(a, StoredHeaders(a), verdict);
}

// Before a block does anything.
__device__ __forceinline__ Status judge_by_block(const JudgeArguments &a, Status &verdict) {
    if (warp_index() == 0) {
        judge_states(a, verdict);
    }
    __syncthreads();
    return verdict;
}

// Whether the last warp of the block judges: beside it the others begin with what is written only after a verdict.
__device__ __forceinline__ bool is_judge() { return warp_index() == static_cast<int>(blockDim.x) / warp_lanes - 1; }

} // namespace wr::cuda
