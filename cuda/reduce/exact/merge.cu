// The partial sums of an axis that several blocks had: words are added as integers, and then rounded.
#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/exact/kernels.h"

namespace wr::cuda {

__global__ void __launch_bounds__(most_exact_merge_threads) exact_merge(const __grid_constant__ ExactMergeArguments a) {
    auto *const sums = reinterpret_cast<std::int64_t *>(launched_memory()); // [warp][word]
    pdl_wait_and_release();
    const auto threads = static_cast<int>(blockDim.x), warps = threads / warp_lanes, warp = warp_index();
    const std::size_t output = a.first_output + blockIdx.x;
    const int count = exact_words(a.layout);
    const std::int64_t *partials = a.partials + output * a.splits * static_cast<std::size_t>(count);
    for (int word = lane_index(); word < count; word += warp_lanes) {
        std::int64_t sum = 0;
#pragma unroll 8
        for (auto split = static_cast<std::size_t>(warp); split < a.splits; split += static_cast<std::size_t>(warps)) {
            sum += partials[split * static_cast<std::size_t>(count) + static_cast<std::size_t>(word)];
        }
        sums[warp * count + word] = sum;
    }
    __syncthreads();
    for (int word = static_cast<int>(threadIdx.x); word < count; word += threads) {
        for (int other = 1; other < warps; ++other) {
            sums[word] += sums[other * count + word];
        }
    }
    __syncthreads();
    if (a.to_words) {
        for (int word = static_cast<int>(threadIdx.x); word < count; word += threads) {
            static_cast<std::int64_t *>(
                a.output)[output * static_cast<std::size_t>(count) + static_cast<std::size_t>(word)] = sums[word];
        }
    } else if (threadIdx.x == 0) {
        finish_exactly(sums, a.layout, a.output_type, a.output, output);
    }
}

const void *exact_merge_kernel() { return address_of(exact_merge); }

} // namespace wr::cuda
