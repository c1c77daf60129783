// Barriers at which a row's warps in a block meet, of which others leave word without waiting. What any of them wrote
// before is known to those who waited.
#pragma once

#include "cuda/device/intrinsics.cuh"

namespace wr::cuda {

// Their numbers are written out: a kernel that only knows them when it runs is given all 16 of a block's barriers, and
// a multiprocessor has no more than 64 or so (rows of a warp each, blocks of 4 warps: 33 % slower on an H200).
template <int Number>
__device__ __forceinline__ void wait_at_numbered_barrier(int warps) {
    asm volatile("bar.sync %0, %1;" ::"n"(Number), "r"(warps * warp_lanes) : "memory");
}
template <int Number>
__device__ __forceinline__ void leave_word_at_numbered_barrier(int warps) {
    asm volatile("bar.arrive %0, %1;" ::"n"(Number), "r"(warps * warp_lanes) : "memory");
}

// Rows of a block that have more than one warp, at most.
inline constexpr int most_shared_rows = 2;

// Of row number 0 or 1 of the block.
__device__ __forceinline__ void wait_at_row_barrier(int row, int warps) {
    if (row == 0) {
        wait_at_numbered_barrier<0>(warps);
    } else {
        wait_at_numbered_barrier<1>(warps);
    }
}

// The same row's other barrier: some of its warps wait there for others that may be gone.
__device__ __forceinline__ void leave_word_at_row_barrier(int row, int warps) {
    __threadfence_block();
    if (row == 0) {
        leave_word_at_numbered_barrier<2>(warps);
    } else {
        leave_word_at_numbered_barrier<3>(warps);
    }
}
__device__ __forceinline__ void wait_for_word_at_row_barrier(int row, int warps) {
    if (row == 0) {
        wait_at_numbered_barrier<2>(warps);
    } else {
        wait_at_numbered_barrier<3>(warps);
    }
}

} // namespace wr::cuda
