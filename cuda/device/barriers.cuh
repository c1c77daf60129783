// How warps and blocks wait for each other, and what the blocks of a cluster say to each other.
#pragma once

#include "cuda/device/intrinsics.cuh"

#include <cstdint>

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

// A barrier on which a block waits for bytes: states that other blocks of its cluster send, or copies from memory.

// A barrier in shared memory that the arrivals of one thread, or of as many as it is told, and of the bytes they
// announced complete, phase after phase: a block that waits for it does not wait for memory, as it would at a barrier
// of the cluster.
class Mbarrier {
  public:
    // Known to the cluster after a barrier of it.
    __device__ __forceinline__ void initialise(unsigned arrivals = 1) {
#if __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(&bits_)), "r"(arrivals) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
    }

    // The same for a barrier that is used once, with the bytes that it waits for.
    __device__ __forceinline__ void expect(unsigned bytes) {
        initialise();
        announce(bytes);
    }

    __device__ __forceinline__ void arrive() {
#if __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&bits_)) : "memory");
#endif
    }

    __device__ __forceinline__ void announce(unsigned bytes) {
#if __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&bits_)), "r"(bytes)
                     : "memory");
#endif
    }

    // Until a phase of this parity has completed: the first one's is 0.
    __device__ __forceinline__ void wait(unsigned parity = 0) {
#if __CUDA_ARCH__ >= 900
        unsigned done = 0;
        while (done == 0) {
            asm volatile("{\n"
                         ".reg .pred complete;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
                         "selp.u32 %0, 1, 0, complete;\n"
                         "}"
                         : "=r"(done)
                         : "r"(address(&bits_)), "r"(parity)
                         : "memory");
        }
#endif
    }

    // Writes a state to the same place in the shared memory of block `rank`, whose barrier counts its bytes.
    template <class State>
    __device__ __forceinline__ void send(unsigned rank, State *place, const State &state) {
#if __CUDA_ARCH__ >= 900
        constexpr unsigned piece_bytes = 16;
        unsigned long long splits[sizeof(State) / sizeof(unsigned long long)];
        memcpy(splits, &state, sizeof(state));
        const unsigned to = in_block(rank, address(place)), barrier = in_block(rank, address(&bits_));
        if constexpr (sizeof(State) < piece_bytes) {
            asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];" ::"r"(to),
                         "l"(splits[0]), "r"(barrier)
                         : "memory");
        } else {
#pragma unroll
            for (unsigned i = 0; i < sizeof(State) / piece_bytes; ++i) {
                asm volatile(
                    "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%0], {%1, %2}, [%3];" ::"r"(
                        to + i * piece_bytes),
                    "l"(splits[2 * i]), "l"(splits[2 * i + 1]), "r"(barrier)
                    : "memory");
            }
        }
#endif
    }

    // Starts a copy of whole vectors into this block's shared memory, and announces its bytes.
    __device__ __forceinline__ void copy(void *to, const void *from, unsigned bytes) {
        announce(bytes);
        copy_announced(to, from, bytes);
    }

    // The same of bytes that are announced already.
    __device__ __forceinline__ void copy_announced(void *to, const void *from, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         address(to)),
                     "l"(from), "r"(bytes), "r"(address(&bits_))
                     : "memory");
#endif
    }

  private:
    __device__ __forceinline__ static unsigned address(const void *shared) {
        return static_cast<unsigned>(__cvta_generic_to_shared(shared));
    }
    __device__ __forceinline__ static unsigned in_block(unsigned rank, unsigned address) {
        unsigned mapped = 0;
#if __CUDA_ARCH__ >= 900
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
#endif
        return mapped;
    }

    std::uint64_t bits_;
};

// Reads and writes of shared memory before it, and copies that are started behind it.
__device__ __forceinline__ void order_with_copies() {
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    __syncwarp();
}

// Barriers at which a row's warps in a block meet, of which others leave word without waiting. What any of them wrote
// before is known to those who waited.

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
