// Walking over tiles: a warp takes runs of 32 lanes, whole tiles all of them, since every width divides 32.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/tiles/kernels.h"

namespace wr::cuda {

// A thread's place among the lanes of a job. Threads of a run's absent lanes take part in the warp's functions too.
struct TileLane {
    std::size_t index;         // among all lanes
    std::uint32_t lane, lanes; // in its tile: which, and how many are present
    std::uint32_t shift;       // the tile's first lane in the warp
    bool present;

    // The part of a mask over the warp that is the tile's, and only lanes that are present.
    __device__ std::uint32_t mask_in_tile(std::uint32_t warp_mask) const {
        return (warp_mask >> shift) & mask_of_lanes(lanes);
    }
};

__device__ __forceinline__ TileLane tile_lane(Tiles tiles, std::size_t run) {
    const auto lane_of_warp = static_cast<std::uint32_t>(lane_index());
    const std::uint32_t lane = lane_of_warp & (tiles.width - 1), shift = lane_of_warp - lane;
    const std::size_t index = run + lane_of_warp, first = run + shift;
    // A tile that is absent as a whole has its lanes all the same, and nobody to see them.
    const std::uint32_t lanes = first < tiles.count ? lanes_of_tile(tiles, first) : tiles.width;
    return {index, lane, lanes, shift, index < tiles.count};
}

// value = load(index) for every lane that is present, `absent` for the others, then work(lane, value), called by whole
// warps. What a warp writes it has read before, so that output may be the input.
template <class Value, class Load, class Work>
__device__ __forceinline__ void for_each_tile_run(Tiles tiles, Value absent, Load load, Work work) {
    constexpr std::size_t lanes_a_step = std::size_t{warp_lanes} * tile_runs;
    const std::size_t warp =
        blockIdx.x * std::size_t{tile_threads / warp_lanes} + static_cast<std::size_t>(warp_index());
    const std::size_t step = std::size_t{gridDim.x} * lanes_a_tile_block;
    for (std::size_t first = warp * lanes_a_step; first < tiles.count; first += step) {
        Value values[tile_runs];
#pragma unroll
        for (int run = 0; run < tile_runs; ++run) {
            const std::size_t index = first + static_cast<std::size_t>(run * warp_lanes + lane_index());
            values[run] = index < tiles.count ? load(index) : absent;
        }
#pragma unroll
        for (int run = 0; run < tile_runs; ++run) {
            const std::size_t begin = first + static_cast<std::size_t>(run) * warp_lanes;
            if (begin < tiles.count) {
                work(tile_lane(tiles, begin), values[run]);
            }
        }
    }
}

} // namespace wr::cuda
