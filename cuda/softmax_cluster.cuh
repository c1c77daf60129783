// Rows of up to 256 base blocks: the row in the registers of a cluster's warps, read once and written once. Every warp
// sends its state into the shared memory of all the cluster's blocks, where one warp merges them.
#pragma once

#include "cuda/softmax_rows.cuh"

namespace wr::cuda {

inline constexpr int most_cluster_states = 256;

// In clusters of blocks of so many warps at most, rows have no more than 32 states, and every warp merges them.
inline constexpr int few_state_warps = 8;

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

// A barrier in shared memory that the arrival of a number of bytes completes: a block that waits for it does not wait
// for memory, as it would at a barrier of the cluster.
class ArrivalBarrier {
  public:
    __device__ __forceinline__ void expect(unsigned bytes) {
#if __CUDA_ARCH__ >= 900
        const unsigned at = address(&bits_);
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes) : "memory");
#endif
    }

    __device__ __forceinline__ void wait() {
#if __CUDA_ARCH__ >= 900
        unsigned done = 0;
        while (done == 0) {
            asm volatile("{\n"
                         ".reg .pred complete;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], 0;\n"
                         "selp.u32 %0, 1, 0, complete;\n"
                         "}"
                         : "=r"(done)
                         : "r"(address(&bits_))
                         : "memory");
        }
#endif
    }

    // Writes a state to the same place in the shared memory of block `rank`, whose barrier counts its bytes.
    template <class State>
    __device__ __forceinline__ void send(unsigned rank, State *place, const State &state) {
#if __CUDA_ARCH__ >= 900
        uint4 pieces[sizeof(State) / sizeof(uint4)];
        memcpy(pieces, &state, sizeof(state));
        const unsigned to = in_block(rank, address(place)), barrier = in_block(rank, address(&bits_));
#pragma unroll
        for (unsigned i = 0; i < sizeof(State) / sizeof(uint4); ++i) {
            asm volatile(
                "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(
                    to + i * static_cast<unsigned>(sizeof(uint4))),
                "r"(pieces[i].x), "r"(pieces[i].y), "r"(pieces[i].z), "r"(pieces[i].w), "r"(barrier)
                : "memory");
        }
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

__device__ __forceinline__ unsigned block_in_cluster() {
    unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}
__device__ __forceinline__ unsigned cluster_number() {
    unsigned number = 0;
#if __CUDA_ARCH__ >= 900
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(number));
#endif
    return number;
}

struct ClusterPlace {
    std::uint32_t row;
    int block, count; // base block of the row

    __device__ __forceinline__ explicit ClusterPlace(const SoftmaxArguments &a) {
        row = cluster_number();
        block = static_cast<int>(block_in_cluster() * (blockDim.x / warp_lanes)) + warp_again();
        count = smaller(static_cast<int>(a.axis) - block * static_cast<int>(softmax_block),
                        static_cast<int>(softmax_block)); // below 1 in warps behind the row's end
    }

    template <class T, class Places>
    __device__ __forceinline__ const T *input(const SoftmaxArguments &a) const {
        const std::ptrdiff_t stride = Places::vectors ? 1 : a.axis_stride;
        return static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.outer_stride +
               block * static_cast<int>(softmax_block) * stride;
    }
    __device__ __forceinline__ std::size_t output(const SoftmaxArguments &a) const {
        return row * static_cast<std::size_t>(static_cast<std::uint32_t>(a.axis)) +
               static_cast<std::size_t>(block) * softmax_block;
    }
};

// What one warp of a block tells the others of their row.
template <bool Log, class Float, class Sum>
struct ClusterRow {
    using Type = RowView<Sum>;
};
template <class Float, class Sum>
struct ClusterRow<true, Float, Sum> {
    using Type = LogRow<Float>;
};

// More states than lanes: behind a call, so that the exponentials of the warp that merges stay in registers elsewhere.
template <class Float, class Sum>
__device__ __noinline__ RowView<Sum> merge_many_states(const BlockState<Float, Sum> *states, int count) {
    return merge_states<most_cluster_states / warp_lanes, warp_lanes>(states, count);
}

template <bool Log, class Float, class Sum>
__device__ __forceinline__ typename ClusterRow<Log, Float, Sum>::Type
merge_cluster(const BlockState<Float, Sum> *states, int count) {
    if constexpr (Log) {
        return log_row(merge_any_states(states, count));
    } else {
        return merge_many_states(states, count);
    }
}

// a.cluster_blocks blocks of any number of warps form the cluster.
template <class T, class Places, bool Log, int Warps, int BlocksPerMultiprocessor>
__global__ void __launch_bounds__(Warps *warp_lanes, BlocksPerMultiprocessor)
    softmax_cluster(const __grid_constant__ SoftmaxArguments a) {
#if __CUDA_ARCH__ >= 900
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using State = BlockState<Float, Sum>;
    constexpr bool few = Warps <= few_state_warps;                                // at most one state a lane
    __shared__ State states[state_place(few ? warp_lanes : most_cluster_states)]; // of the row
    __shared__ State own_states[Warps];
    __shared__ typename ClusterRow<Log, Float, Sum>::Type shared_row;
    __shared__ ArrivalBarrier arrivals;
    const int count = a.cluster_blocks * static_cast<int>(blockDim.x / warp_lanes);
    if (thread_x_again() == 0) {
        arrivals.expect(static_cast<unsigned>(count) * static_cast<unsigned>(sizeof(State)));
    }
    // Another block's shared memory may be written once that block runs and has set its ArrivalBarrier up, which
    // expect() makes known to the cluster: waited for below.
    join_cluster();
    const ClusterPlace from(a);
    const BlockLogits<T, Places> x(a, from.input<T, Places>(a), from.count);
    Float e[lane_elements];
    block_state<T, Places, Float, Sum>(a, from.input<T, Places>(a), from.count, x, e, &own_states[warp_again()]);
    __syncwarp();
    await_cluster();
    if (lane_index() < a.cluster_blocks) {
        const ClusterPlace own(a);
        arrivals.send(static_cast<unsigned>(lane_index()), states + state_place(own.block), own_states[warp_again()]);
    }
    if (few && !Log) {
        arrivals.wait();
    } else {
        if (warp_again() == 0) {
            arrivals.wait();
            const auto row = merge_cluster<Log>(states, count);
            if (lane_index() == 0) {
                shared_row = row;
            }
        }
        __syncthreads();
    }
    if constexpr (Log) {
        const ClusterPlace to(a);
        finish_log_softmax<T, Places>(a, shared_row, to.output(a), to.count, x);
    } else {
        RowView<Sum> view;
        if constexpr (few) {
            view = merge_states<1, warp_lanes>(states, count);
        } else {
            view = shared_row;
        }
        const ClusterPlace to(a);
        const std::int32_t n = own_states[warp_again()].n;
        if (n != unusual_n && view.plain() && has_plain_factor<T, Places>(a, n - view.n)) {
            finish_softmax<T, Places>(a, plain_factor(view.sum, n - view.n, Float()), to.output(a), to.count, e);
        } else {
            arrivals.wait(); // the states are looked at, which another warp may have waited for
            finish_unusual_softmax<T, Places>(a, to.input<T, Places>(a), to.output(a), to.count,
                                              states[state_place(to.block)].maximum, merge_any_states(states, count));
        }
    }
    if (a.logsumexp != nullptr && block_in_cluster() == 0 && warp_again() == 0) {
        const RowState<Float, Sum> total = merge_any_states(states, count);
        if (lane_index() == 0) {
            store_row_logsumexp(total, a.logsumexp, cluster_number());
        }
    }
#endif
}

} // namespace wr::cuda
