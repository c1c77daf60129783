// The end of segments that are longer than a window: the runs of each are put together.
#pragma once

#include "cuda/finish_result.cuh"
#include "cuda/segment_map.cuh"
#include "cuda/tile_access.cuh"
#include "cuda/warp_counter.cuh"

namespace wr::cuda {

inline constexpr int long_segment_warps = long_segment_threads / warp_lanes;
static_assert(long_segment_warps == warp_lanes);

// The most runs that a warp puts together by itself.
inline constexpr std::size_t most_runs_of_a_warp = 1024;

// The runs of a long segment: the first one's result is where its window says, the others' follow.
template <class T>
struct Runs {
    const T *first, *later;
    std::size_t count;
};

// The tree over up to `tiles` tiles of 256 runs from run number `begin` on; in every lane.
template <class T, class Op>
__device__ __noinline__ typename Op::Accumulator tree_over_runs(Runs<T> runs, std::size_t begin, std::size_t tiles) {
    constexpr std::size_t tile = ScatteredAccess<T, Op>::elements;
    WarpCounter<Op> whole;
    const std::size_t end = smaller(runs.count, begin + tiles * tile);
    for (std::size_t start = begin; start < end; start += tile) {
        typename Op::Accumulator values[tree_registers];
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            const std::size_t at = start + static_cast<std::size_t>(v * warp_lanes + lane_index());
            values[v] = Op::identity();
            if (at < end) {
                values[v] = Op::map(at == 0 ? *runs.first : runs.later[at], Mapping{});
            }
        }
        whole.push(Op::settle(warp_tree<Op>(values)));
    }
    return whole.take();
}

// One of the block's windows that still waits for the whole block; -1 where none does.
__device__ __forceinline__ int any_thread_waiting(bool waits) {
    __shared__ int waiting[long_segment_warps];
    const unsigned in_warp = __ballot_sync(whole_warp, waits);
    if (lane_index() == 0) {
        waiting[warp_index()] = in_warp == 0 ? -1 : warp_index() * warp_lanes + __ffs(static_cast<int>(in_warp)) - 1;
    }
    __syncthreads();
    const int of_warp = waiting[lane_index()];
    const unsigned warps = __ballot_sync(whole_warp, of_warp >= 0);
    __syncthreads();
    return warps == 0 ? -1 : __shfl_sync(whole_warp, of_warp, __ffs(static_cast<int>(warps)) - 1);
}

// The tree over many runs, by a block; in thread 0.
template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator block_tree_over_runs(const Runs<T> &runs) {
    __shared__ typename Op::Accumulator results[long_segment_warps];
    constexpr std::size_t tile = ScatteredAccess<T, Op>::elements;
    std::size_t tiles = 1;
    while (tiles * tile * long_segment_warps < runs.count) {
        tiles *= 2;
    }
    auto mine = tree_over_runs<T, Op>(runs, static_cast<std::size_t>(warp_index()) * tiles * tile, tiles);
    if (lane_index() == 0) {
        results[warp_index()] = Op::settle(mine);
    }
    __syncthreads();
    return tree_over_lanes<Op>(results[lane_index()], warp_lanes);
}

// T and Op are those of the partial results. Each thread looks at a window; what begins there is a warp's work, or the
// block's.
template <class T, class Op>
__global__ void __launch_bounds__(long_segment_threads)
    finish_long_segments(const __grid_constant__ SegmentArguments a) {
    wait_for_previous_kernel();
    const SegmentMap map(a);
    const std::int64_t windows = map.windows();
    const auto runs_of = [&](std::int64_t window, std::int64_t count) {
        return Runs<T>{static_cast<const T *>(a.first_runs) + window, static_cast<const T *>(a.later_runs) + window,
                       static_cast<std::size_t>((count + map.window() - 1) >> map.window_log2)};
    };
    for (std::int64_t block = blockIdx.x * std::int64_t{long_segment_threads}; block < windows;
         block += gridDim.x * std::int64_t{long_segment_threads}) {
        const std::int64_t window = block + threadIdx.x;
        const std::int64_t segment = window < windows ? a.long_segments[window] : -1;
        const std::int64_t count = segment < 0 ? 0 : map.bounds(static_cast<std::size_t>(segment)).count();
        const bool for_block = runs_of(window, count).count > most_runs_of_a_warp;
        for (unsigned left = __ballot_sync(whole_warp, count != 0 && !for_block); left != 0; left &= left - 1) {
            const int lane = __ffs(static_cast<int>(left)) - 1;
            const auto elements = from_lane(count, lane);
            const auto value =
                tree_over_runs<T, Op>(runs_of(window - lane_index() + lane, elements), 0, ~std::size_t{0} >> 16);
            if (lane_index() == lane) {
                finish_result(value, static_cast<std::uint64_t>(elements), a.finish, a.output,
                              static_cast<std::size_t>(segment));
            }
        }
        bool waits = for_block;
        for (int thread = any_thread_waiting(waits); thread >= 0; thread = any_thread_waiting(waits)) {
            const auto number = static_cast<std::size_t>(a.long_segments[block + thread]);
            const std::int64_t elements = map.bounds(number).count();
            const auto value = block_tree_over_runs<T, Op>(runs_of(block + thread, elements));
            if (threadIdx.x == 0) {
                finish_result(value, static_cast<std::uint64_t>(elements), a.finish, a.output, number);
            }
            waits = waits && static_cast<int>(threadIdx.x) != thread;
        }
    }
}

} // namespace wr::cuda
