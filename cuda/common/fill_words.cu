#include "cuda/common/fill_words.h"
#include "cuda/common/launch.h"
#include "cuda/device/intrinsics.cuh"
#include "numerics/host_device.h"

namespace wr::cuda {

__global__ void __launch_bounds__(fill_threads) fill_words(const __grid_constant__ FillArguments a) {
    pdl_release();
    pdl_wait(); // whose memory it may be
    constexpr unsigned words_a_thread = filled_words / fill_threads;
#pragma unroll
    for (unsigned i = 0; i < words_a_thread; ++i) {
        const std::size_t word = blockIdx.x * filled_words + i * std::size_t{fill_threads} + threadIdx.x;
        if (word < a.count) {
            a.words[word] = a.value;
        }
    }
}

const void *fill_words_kernel() { return address_of(fill_words); }

cudaError_t launch_fill_words(FillArguments words, const GpuFacts &gpu, cudaStream_t stream) {
    return launch({.kernel = fill_words_kernel(),
                   .blocks = divide_up(words.count, filled_words),
                   .threads = fill_threads,
                   .dependent = gpu.dependent_launch},
                  &words, stream);
}

} // namespace wr::cuda
