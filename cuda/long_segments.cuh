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
inline constexpr unsigned most_runs_of_a_warp = 1024;

// Runs that a warp puts together at once, and each lane of them by itself.
inline constexpr unsigned runs_of_a_lane = 8;
inline constexpr unsigned runs_at_once = warp_lanes * runs_of_a_lane;

// The runs of a long segment: the first one's result is where its window says, the others' follow.
template <class T>
struct Runs {
    const T *first, *later;
    unsigned count;
};

// The tree over the runs from number `begin` on, `most` of them; in every lane.
template <class T, class Op>
__device__ __noinline__ typename Op::Accumulator tree_over_runs(Runs<T> runs, unsigned begin, unsigned most) {
    WarpCounter<Op> whole;
    const unsigned end = smaller(runs.count, begin + most);
    for (unsigned start = begin; start < end; start += runs_at_once) {
        const unsigned at = start + static_cast<unsigned>(lane_index()) * runs_of_a_lane;
        typename Op::Accumulator values[runs_of_a_lane];
#pragma unroll
        for (unsigned i = 0; i < runs_of_a_lane; ++i) {
            values[i] = Op::identity();
            if (at + i < end) {
                values[i] = Op::map(i == 0 && at == 0 ? *runs.first : runs.later[at + i], Mapping{});
            }
        }
#pragma unroll
        for (unsigned width = 1; width < runs_of_a_lane; width *= 2) {
#pragma unroll
            for (unsigned i = 0; i < runs_of_a_lane; i += 2 * width) {
                values[i] = Op::combine(values[i], values[i + width]);
            }
        }
        whole.push(Op::settle(tree_over_lanes<Op>(values[0], warp_lanes)));
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
    unsigned most = runs_at_once;
    while (most * long_segment_warps < runs.count) {
        most *= 2;
    }
    auto mine = tree_over_runs<T, Op>(runs, static_cast<unsigned>(warp_index()) * most, most);
    if (lane_index() == 0) {
        results[warp_index()] = Op::settle(mine);
    }
    __syncthreads();
    return tree_over_lanes<Op>(results[lane_index()], warp_lanes);
}

// The long segment that begins in a window, of whose grains at most one knows it; -1 where none does.
__device__ __forceinline__ std::int64_t long_segment_in(const SegmentArguments &a, std::int64_t window) {
    std::int64_t segment = -1;
#pragma unroll
    for (int grain = 0; grain < 1 << segment_grains_log2; ++grain) {
        segment = larger(segment, a.long_segments[(window << segment_grains_log2) + grain]);
    }
    return segment;
}

// T and Op are those of the partial results. Each thread looks at a window; what begins there is a warp's work, or the
// block's.
template <class T, class Op>
__global__ void __launch_bounds__(long_segment_threads)
    finish_long_segments(const __grid_constant__ SegmentArguments a) {
    const SegmentMap map(a); // the caller's offsets: what is in front of this call has been waited for
    wait_for_previous_kernel();
    allow_dependent_launch();
    const std::int64_t windows = map.windows();
    const auto runs_of = [&](std::int64_t window, std::int64_t count) {
        return Runs<T>{static_cast<const T *>(a.first_runs) + window, static_cast<const T *>(a.later_runs) + window,
                       static_cast<unsigned>((count + map.window() - 1) >> map.window_log2)};
    };
    for (std::int64_t block = blockIdx.x * std::int64_t{long_segment_threads}; block < windows;
         block += gridDim.x * std::int64_t{long_segment_threads}) {
        const std::int64_t window = block + threadIdx.x;
        const std::int64_t segment = window < windows ? long_segment_in(a, window) : -1;
        const std::int64_t count = segment < 0 ? 0 : map.bounds(static_cast<std::size_t>(segment)).count();
        const bool for_block = runs_of(window, count).count > most_runs_of_a_warp;
        for (unsigned left = __ballot_sync(whole_warp, count != 0 && !for_block); left != 0; left &= left - 1) {
            const int lane = __ffs(static_cast<int>(left)) - 1;
            const auto elements = from_lane(count, lane);
            const auto value =
                tree_over_runs<T, Op>(runs_of(window - lane_index() + lane, elements), 0, most_runs_of_a_warp);
            if (lane_index() == lane) {
                finish_result(value, static_cast<std::uint64_t>(elements), a.finish, a.output,
                              static_cast<std::size_t>(segment));
            }
        }
        bool waits = for_block;
        for (int thread = any_thread_waiting(waits); thread >= 0; thread = any_thread_waiting(waits)) {
            const auto number = static_cast<std::size_t>(long_segment_in(a, block + thread));
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
