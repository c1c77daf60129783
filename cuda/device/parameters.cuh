// A kernel's parameters, which lie in the constant cache.
#pragma once

#include "cuda/device/intrinsics.cuh"

namespace wr::cuda {

// Reads a word of each line of them: they come from far once a launch, and may do so while the kernel before still
// runs.
template <class Parameters>
__device__ __forceinline__ void bring_near(const Parameters &p) {
    constexpr unsigned line_words = 16, words = sizeof(Parameters) / sizeof(unsigned);
    const auto *const of = reinterpret_cast<const unsigned *>(&p);
    unsigned any = of[words - 1];
#pragma unroll
    for (unsigned i = 0; i < words; i += line_words) {
        any |= of[i];
    }
    if (any == 0) { // which does no harm, but has to be known before
        pdl_wait();
    }
}

// pdl_wait_and_release with the parameters near by then.
template <class Parameters>
__device__ __forceinline__ void pdl_wait_and_release(const Parameters &p) {
    bring_near(p);
    pdl_wait_and_release();
}

} // namespace wr::cuda
