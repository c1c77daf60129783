// Rows in the registers of a block's or a cluster's warps, each of which holds a tile: whose is whose, and how
// many blocks and warps the launcher gave a row.
#pragma once

#include "cuda/softmax/rows/cluster_rows.cuh"

namespace wr::cuda {

// Which tile, of so many elements, of which row a warp has: blockDim.y rows are a block's where cluster_blocks is 1,
// else a row is a cluster's. Made again where it is wanted again: cheaper than registers that hold it through the
// arithmetic.
template <int Elements>
struct RowTileOf {
    std::size_t row;
    int block;            // of the row
    std::ptrdiff_t first; // its first element

    __device__ __forceinline__ explicit RowTileOf(std::int32_t cluster_blocks) {
        const auto blocks = static_cast<unsigned>(cluster_blocks);
        const unsigned job = job_again(), cluster = blocks > 1 ? job / blocks : job;
        row = cluster * static_cast<std::size_t>(blockDim.y) + static_cast<std::size_t>(thread_y_again());
        block = static_cast<int>(job - cluster * blocks) * static_cast<int>(blockDim.x / warp_lanes) + warp_again();
        first = static_cast<std::ptrdiff_t>(block) * Elements;
    }

    __device__ __forceinline__ RowTileOf(std::size_t row, int block)
        : row(row), block(block), first(static_cast<std::ptrdiff_t>(block) * Elements) {}

    // Of the row's first `elements`, how many are the warp's; below 1 where they end before.
    __device__ __forceinline__ int count(std::size_t elements) const {
        return static_cast<int>(smaller<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(elements) - first, Elements));
    }

    template <class T>
    __device__ __forceinline__ const T *in(const void *array, std::ptrdiff_t outer_stride) const {
        return static_cast<const T *>(array) + static_cast<std::ptrdiff_t>(row) * outer_stride + first;
    }

    __device__ __forceinline__ static unsigned job_again() {
        unsigned x;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
        return x;
    }
};
using RowTile = RowTileOf<static_cast<int>(softmax_block)>;

// How the warps that share a row tell each other their states.

// The states in a block's shared memory: of its warps where rows are its own, else of all the row's warps, and those
// that its own warps send to the others.
template <class State, int Warps>
struct RowStates {
    State all[state_place(most_cluster_states)];
    State own[Warps];
    Mbarrier arrivals;

    __device__ __forceinline__ static int row_warps() { return static_cast<int>(blockDim.x / warp_lanes); }

    __device__ __forceinline__ void prepare(std::int32_t cluster_blocks) {
        if (cluster_blocks > 1) {
            if (thread_x_again() == 0) {
                arrivals.initialise();
            }
            __syncwarp(); // the warp may initialise by any lane: racecheck wants to see that they meet
            if (thread_x_again() == 0) {
                arrivals.announce(static_cast<unsigned>(cluster_blocks * row_warps()) *
                                  static_cast<unsigned>(sizeof(State)));
            }
            join_cluster();
        }
    }

    // The row's total, to which this warp brings its own, in every lane.
    __device__ __forceinline__ State total(std::int32_t cluster_blocks, const State &mine) {
        const bool by_cluster = cluster_blocks > 1;
        State *const of_row = all + thread_y_again() * state_place(row_warps());
        if (lane_index() == 0) {
            *(by_cluster ? own + warp_again() : of_row + state_place(warp_again())) = mine;
        }
        __syncwarp();
        if (by_cluster) {
            await_cluster();
            if (lane_index() < cluster_blocks) {
                const RowTile place(cluster_blocks);
                arrivals.send(static_cast<unsigned>(lane_index()), all + state_place(place.block), own[warp_again()]);
            }
            arrivals.wait();
        } else if (row_warps() > 1) {
            __syncthreads();
        }
        return merge_any_states(of_row, row_warps() * cluster_blocks);
    }
};

} // namespace wr::cuda
