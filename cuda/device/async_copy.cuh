// Copies from global to shared memory that go on while the thread does.
#pragma once

#include "cuda/device/intrinsics.cuh"

namespace wr::cuda {

// Where `left` > Vector: that vector, counted from `to`, and from `Behind` bytes before `from` (the instruction reaches
// 2 KiB either way, so that all copies share one address). Once: the second-level cache need not keep it.
template <bool Once, int Vector, int Behind>
__device__ __forceinline__ void copy_vector_async(unsigned char *to, const char *from, int left) {
#if __CUDA_ARCH__ >= 800
    const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(to));
    if constexpr (Once) {
        asm volatile("{\n"
                     ".reg .pred wanted;\n"
                     ".reg .b64 policy;\n"
                     "createpolicy.fractional.L2::evict_first.b64 policy, 1.0;\n"
                     "setp.gt.s32 wanted, %2, %3;\n"
                     "@wanted cp.async.cg.shared.global.L2::cache_hint.L2::128B [%0 + %4], [%1 + %5], 16, policy;\n"
                     "}" ::"r"(shared),
                     "l"(from), "r"(left), "n"(Vector), "n"(Vector * 16), "n"(Vector * 16 - Behind)
                     : "memory");
    } else {
        asm volatile("{\n"
                     ".reg .pred wanted;\n"
                     "setp.gt.s32 wanted, %2, %3;\n"
                     "@wanted cp.async.cg.shared.global.L2::128B [%0 + %4], [%1 + %5], 16;\n"
                     "}" ::"r"(shared),
                     "l"(from), "r"(left), "n"(Vector), "n"(Vector * 16), "n"(Vector * 16 - Behind)
                     : "memory");
    }
#endif
}
__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Until all but the last group of this lane's copies are there.
__device__ __forceinline__ void wait_for_copies_before_last() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
}

} // namespace wr::cuda
