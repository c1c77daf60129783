// A barrier of a block's threads at which some leave word without waiting. What any of them wrote before is known to
// those who waited.
#pragma once

#include "cuda/device_code.cuh"

namespace wr::cuda {

__device__ __forceinline__ void arrive_at_block_barrier() {
    __threadfence_block();
    asm volatile("bar.arrive 1, %0;" ::"r"(blockDim.x * blockDim.y) : "memory");
}
__device__ __forceinline__ void wait_at_block_barrier() {
    asm volatile("bar.sync 1, %0;" ::"r"(blockDim.x * blockDim.y) : "memory");
}

} // namespace wr::cuda
