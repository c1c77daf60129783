// Makes words absent before multiprocessors tell each other what they come to.
#include "cuda/common/kernel_address.cuh"
#include "cuda/rowwise/published_states.cuh"
#include "cuda/softmax/lookback/clear.h"

namespace wr::cuda {

namespace {

constexpr unsigned clear_threads = static_cast<unsigned>(lookback_clear_threads);
constexpr std::size_t clear_words = lookback_clear_words;

} // namespace

// Nothing is published yet.
__global__ void __launch_bounds__(clear_threads) softmax_lookback_clear(const __grid_constant__ ClearArguments a) {
    pdl_release();
    pdl_wait(); // whose workspace it may be
    constexpr unsigned pair = 2, pairs = clear_words / clear_threads / pair;
#pragma unroll
    for (unsigned i = 0; i < pairs; ++i) {
        const std::size_t word = blockIdx.x * clear_words + pair * (i * std::size_t{clear_threads} + threadIdx.x);
        if (word + 1 < a.count) {
            *reinterpret_cast<ulonglong2 *>(a.words + word) = {absent_word, absent_word};
        } else if (word < a.count) {
            a.words[word] = absent_word;
        }
    }
}

const void *lookback_clear_kernel() { return address_of(softmax_lookback_clear); }

} // namespace wr::cuda
