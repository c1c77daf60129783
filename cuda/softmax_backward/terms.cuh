// What elements bring to their rows' sums, in shared memory: written as vectors lie in memory, added up as rows do.
#pragma once

#include "cuda/softmax_backward/tile.cuh"

namespace wr::cuda {

inline constexpr int term_run = static_cast<int>(backward_term_run);

__device__ __forceinline__ unsigned place_of_term(unsigned place) { return place + place / backward_term_gap; }

// Those of vector `number`.
template <int Run, class Weights, class Gradients>
__device__ __forceinline__ void store_terms(float *terms, int number, bool log, const Weights &weights,
                                            const Gradients &gradients) {
    float *const own = terms + place_of_term(static_cast<unsigned>(number) * Run);
#pragma unroll
    for (int i = 0; i < Run; ++i) {
        own[i] = gradient_term(log, weights[i], gradients[i]);
    }
}

// The tree over a run of terms, of which `count` are there, and `gap` before a place that is left out.
__device__ __forceinline__ float sum_of_run(const float *terms, int count, int gap) {
    float own[term_run];
#pragma unroll
    for (int i = 0; i < term_run; ++i) {
        own[i] = -0.0f;
        if (i < count) {
            own[i] = (i < gap ? terms : terms + 1)[i];
        }
    }
    return run_sum<term_run, float>(own);
}

// The tree over the first `count` terms of 1, 2 or 4 runs from `place` on. (More at a time would spill.)
__device__ __forceinline__ float sum_of_runs(const float *terms, int runs, int place, int count) {
    const auto start = static_cast<unsigned>(place);
    const float *own = terms + place_of_term(start);
    int gap = static_cast<int>(backward_term_gap - start % backward_term_gap);
    float sum = 0;
#pragma unroll 1
    for (int r = 0; r < runs; r += 2) {
        float pair = sum_of_run(own, count, gap);
        if (r + 1 < runs) {
            pair = pair + sum_of_run(own + term_run, count - term_run, gap - term_run);
        }
        sum = r == 0 ? pair : sum + pair;
        own += 2 * term_run;
        gap -= 2 * term_run;
        count -= 2 * term_run;
    }
    return sum;
}

// Else the compiler keeps what it has made of elements until they are wanted again.
template <class Part>
__device__ __forceinline__ void take_again(BackwardElements<Part> &elements) {
#pragma unroll
    for (uint4 &vector : elements.of) {
        asm volatile("" : "+r"(vector.x), "+r"(vector.y), "+r"(vector.z), "+r"(vector.w));
    }
}
template <class Part>
__device__ __forceinline__ void take_again(FormedWeights<Part> &) {}

} // namespace wr::cuda
