#include "cuda/common/fill_words.h"

#include "cuda/common/kernel_address.cuh"
#include "cuda/device/intrinsics.cuh"

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

} // namespace wr::cuda
