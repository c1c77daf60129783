// The partial sums of an axis that several blocks had: words are added as integers, and then rounded.
#include "cuda/common/kernel_address.cuh"
#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/exact/kernels.h"

namespace wr::cuda {

namespace {

constexpr int merge_warps = exact_merge_threads / warp_lanes;

} // namespace

__global__ void __launch_bounds__(exact_merge_threads) exact_merge(const __grid_constant__ ExactMergeArguments a) {
    __shared__ std::int64_t sums[merge_warps][most_exact_words];
    pdl_wait_and_release();
    const std::size_t output = a.first_output + blockIdx.x;
    const int count = exact_words(a.layout);
    const std::int64_t *partials = a.partials + output * a.splits * static_cast<std::size_t>(count);
    for (int word = lane_index(); word < count; word += warp_lanes) {
        std::int64_t sum = 0;
#pragma unroll 8
        for (std::size_t split = warp_index(); split < a.splits; split += merge_warps) {
            sum += partials[split * static_cast<std::size_t>(count) + static_cast<std::size_t>(word)];
        }
        sums[warp_index()][word] = sum;
    }
    __syncthreads();
    for (int word = static_cast<int>(threadIdx.x); word < count; word += exact_merge_threads) {
        std::int64_t sum = 0;
        for (int warp = 0; warp < merge_warps; ++warp) {
            sum += sums[warp][word];
        }
        sums[0][word] = sum;
    }
    __syncthreads();
    if (a.to_words) {
        for (int word = static_cast<int>(threadIdx.x); word < count; word += exact_merge_threads) {
            static_cast<std::int64_t *>(
                a.output)[output * static_cast<std::size_t>(count) + static_cast<std::size_t>(word)] = sums[0][word];
        }
    } else if (threadIdx.x == 0) {
        finish_exactly(&sums[0][0], a.layout, a.output_type, a.output, output);
    }
}

const void *exact_merge_kernel() { return address_of(exact_merge); }

} // namespace wr::cuda
