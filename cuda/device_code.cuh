// The GPU's own words: streaming loads, shuffles of any accumulator, dependent launch.
#pragma once

#include "numerics/host_device.h"

namespace wr::cuda {

inline constexpr unsigned whole_warp = 0xFFFFFFFFu;
inline constexpr int warp_lanes = 32;

__device__ __forceinline__ int lane_index() { return static_cast<int>(threadIdx.x) % warp_lanes; }
__device__ __forceinline__ int warp_index() { return static_cast<int>(threadIdx.x) / warp_lanes; }

// Lets the next kernel of this call take its place on the GPU while this one still runs; it waits before it reads.
__device__ __forceinline__ void allow_dependent_launch() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Until the kernel before this one in the call has finished and its writes can be seen. Returns at once in a kernel
// that was launched plainly.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

template <class T>
__device__ __forceinline__ T from_lane_xor(T value, int mask) {
    return __shfl_xor_sync(whole_warp, value, mask);
}
__device__ __forceinline__ std::uint64_t from_lane_xor(std::uint64_t value, int mask) {
    return static_cast<std::uint64_t>(__shfl_xor_sync(whole_warp, static_cast<unsigned long long>(value), mask));
}
__device__ __forceinline__ std::int64_t from_lane_xor(std::int64_t value, int mask) {
    return static_cast<std::int64_t>(__shfl_xor_sync(whole_warp, static_cast<long long>(value), mask));
}

} // namespace wr::cuda
