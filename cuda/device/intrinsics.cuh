// The GPU's own words: streaming loads, shuffles of any accumulator, dependent launch, parameters, the shared memory of
// a launch and copies into it.
#pragma once

#include "cuda/common/gpu_facts.h"
#include "numerics/host_device.h"

#include <cstring>
#include <type_traits>

namespace wr::cuda {

inline constexpr unsigned whole_warp = 0xFFFFFFFFu;

__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x) % warp_lanes; }

// The same from the lane's own register: shorter by three instructions, but other registers come to be used. The
// thread's number as an operand that is not used tells the compiler that lanes differ: else it moves shuffles into
// branches that not all of them take.
__device__ __forceinline__ int lane_from_register() {
    int lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane) : "r"(threadIdx.x));
    return lane;
}
__device__ __forceinline__ int warp_index() { return static_cast<int>(threadIdx.x) / warp_lanes; }

// What is the same in all lanes, known to be so: branches by it need no code for lanes that part.
__device__ __forceinline__ int same_in_warp(int value) { return __reduce_max_sync(whole_warp, value); }

// Word i of a vector.
__device__ __forceinline__ unsigned word_of(const uint4 &v, int i) {
    return i == 0 ? v.x : i == 1 ? v.y : i == 2 ? v.z : v.w;
}

// Ones from bit n on, none where n is 32 or more: what the hardware shifts by is not cut to five bits.
__device__ __forceinline__ unsigned bits_from(int n) {
    unsigned bits;
    asm("shl.b32 %0, 0xFFFFFFFF, %1;" : "=r"(bits) : "r"(n));
    return bits;
}

// Lets the next kernel on the stream, where it was launched to depend on this one, take its place on the GPU while this
// one still runs; it waits before it reads.
__device__ __forceinline__ void pdl_release() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Until the kernel before this one on the stream has finished and its writes can be seen. Returns at once in a kernel
// that was launched plainly.
__device__ __forceinline__ void pdl_wait() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The beginning of a kernel that is launched to depend on the one before it: none of the caller's memory is touched
// before.
__device__ __forceinline__ void pdl_wait_and_release() {
    pdl_wait();
    pdl_release();
}

// Of any accumulator: what the hardware does not move whole goes word by word.
template <class T, class Shuffle>
__device__ __forceinline__ T moved_by_words(const T &value, const Shuffle &shuffle) {
    static_assert(sizeof(T) % sizeof(unsigned) == 0);
    unsigned words[sizeof(T) / sizeof(unsigned)];
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (unsigned &word : words) {
        word = shuffle(word);
    }
    T moved;
    memcpy(&moved, words, sizeof(T));
    return moved;
}

template <class T>
__device__ __forceinline__ T from_lane(const T &value, int lane) {
    return moved_by_words(value, [&](unsigned word) { return __shfl_sync(whole_warp, word, lane); });
}

template <class T>
__device__ __forceinline__ T from_lane_xor(const T &value, int mask) {
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, std::int32_t>) {
        return __shfl_xor_sync(whole_warp, value, mask);
    } else {
        return moved_by_words(value, [&](unsigned word) { return __shfl_xor_sync(whole_warp, word, mask); });
    }
}

// A kernel as the launcher knows it.

template <class Kernel>
const void *address_of(Kernel *kernel) {
    return reinterpret_cast<const void *>(kernel);
}

// The shared memory that a block gets by its launch, beside what its kernel declares.

__device__ __forceinline__ unsigned char *launched_memory() {
    extern __shared__ uint4 memory[];
    return reinterpret_cast<unsigned char *>(memory);
}

// A kernel's parameters, which lie in the constant cache.

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

// Copies from global to shared memory that go on while the thread does.

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
