// How the warps that share a row (cuda/rowwise/row_tiles.cuh) tell each other their states.
#pragma once

#include "cuda/rowwise/row_tiles.cuh"

namespace wr::cuda {

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
