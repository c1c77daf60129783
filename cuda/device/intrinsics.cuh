// The GPU's own words: streaming loads, shuffles of any accumulator, dependent launch.
#pragma once

#include "cuda/common/warp.h"
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

} // namespace wr::cuda
