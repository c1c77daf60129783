// What the blocks of a cluster say to each other. Where GPUs have none, a block is a cluster of its own.
#pragma once

#include "cuda/device/intrinsics.cuh"

namespace wr::cuda {

__device__ __forceinline__ unsigned block_in_cluster() {
    unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}
__device__ __forceinline__ unsigned blocks_in_cluster() {
    unsigned blocks = 1;
#if __CUDA_ARCH__ >= 900
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(blocks));
#endif
    return blocks;
}
__device__ __forceinline__ unsigned cluster_number() {
    unsigned number = 0;
#if __CUDA_ARCH__ >= 900
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(number));
#endif
    return number;
}

// At the barrier of the whole cluster. Arriving makes no writes known, so that nothing has to be waited for.
__device__ __forceinline__ void join_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void await_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// The barrier of the whole cluster that makes writes known.
__device__ __forceinline__ void synchronise_cluster() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}

// Where something of this block's shared memory is in the cluster's block number `rank`.
template <class T>
__device__ __forceinline__ T *in_block(T *shared, unsigned rank) {
    T *mapped = shared;
#if __CUDA_ARCH__ >= 900
    asm("mapa.u64 %0, %1, %2;" : "=l"(mapped) : "l"(shared), "r"(rank));
#endif
    return mapped;
}
template <class T>
__device__ __forceinline__ T *in_first_block(T *shared) {
    return in_block(shared, 0);
}

} // namespace wr::cuda
