// The end of segments that are longer than a window: the runs of each are put together.
#pragma once

#include "cuda/device/cluster.cuh"
#include "cuda/device/warp_counter.cuh"
#include "cuda/reduce/finish.cuh"
#include "cuda/reduce/tile_access.cuh"
#include "cuda/segments/map.cuh"

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

// The tree over many runs, by a cluster's blocks; in the first one's thread 0.
template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator cluster_tree_over_runs(const Runs<T> &runs) {
    __shared__ typename Op::Accumulator of_warps[long_segment_warps], of_blocks[long_segment_cluster];
    join_cluster(); // the first block runs, and has done with the results of another segment: waited for below
    const unsigned blocks = blocks_in_cluster();
    unsigned most = runs_at_once;
    while (most * long_segment_warps * blocks < runs.count) {
        most *= 2;
    }
    const unsigned warp = block_in_cluster() * long_segment_warps + static_cast<unsigned>(warp_index());
    const auto of_warp = tree_over_runs<T, Op>(runs, warp * most, most);
    if (lane_index() == 0) {
        of_warps[warp_index()] = Op::settle(of_warp);
    }
    __syncthreads();
    const auto of_block = tree_over_lanes<Op>(of_warps[lane_index()], warp_lanes);
    await_cluster();
    if (threadIdx.x == 0) {
        *in_first_block(of_blocks + block_in_cluster()) = Op::settle(of_block);
    }
    synchronise_cluster();
    return tree_over_lanes<Op>(of_blocks[lane_index() % static_cast<int>(blocks)], static_cast<int>(blocks));
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

// The runs of the long segment that begins in a window; none where none does.
template <class T>
struct LongSegment {
    std::int64_t number, elements;
    Runs<T> runs;

    __device__ __forceinline__ LongSegment(const SegmentArguments &a, const SegmentMap &map, std::int64_t window)
        : number(window < map.windows() ? long_segment_in(a, window) : -1),
          elements(number < 0 ? 0 : map.bounds(static_cast<std::size_t>(number)).count()),
          runs{static_cast<const T *>(a.first_runs) + window, static_cast<const T *>(a.later_runs) + window,
               static_cast<unsigned>((elements + map.window() - 1) >> map.window_log2)} {}
};

// The segments of a warp's windows that it puts together by itself, each thread's own.
template <class T, class Op>
__device__ __forceinline__ void finish_by_warp(const SegmentArguments &a, const SegmentMap &map, std::int64_t window) {
    const LongSegment<T> mine(a, map, window);
    const bool few = mine.runs.count != 0 && mine.runs.count <= most_runs_of_a_warp;
    for (unsigned left = __ballot_sync(whole_warp, few); left != 0; left &= left - 1) {
        const int lane = __ffs(static_cast<int>(left)) - 1;
        const auto value = tree_over_runs<T, Op>(from_lane(mine.runs, lane), 0, most_runs_of_a_warp);
        if (lane_index() == lane) {
            finish_result(value, static_cast<std::uint64_t>(mine.elements), a.finish, a.output,
                          static_cast<std::size_t>(mine.number));
        }
    }
}

// The segments of the windows from number `first` on that a whole cluster puts together. Every block looks at all
// windows of its cluster, so that they need not tell each other.
template <class T, class Op>
__device__ __forceinline__ void finish_by_cluster(const SegmentArguments &a, const SegmentMap &map,
                                                  std::int64_t first) {
    __shared__ unsigned waiting[long_segment_cluster][long_segment_warps];
    for (unsigned block = 0; block < blocks_in_cluster(); ++block) {
        const LongSegment<T> mine(a, map, first + block * long_segment_threads + threadIdx.x);
        const unsigned waits = __ballot_sync(whole_warp, mine.runs.count > most_runs_of_a_warp);
        if (lane_index() == 0) {
            waiting[block][warp_index()] = waits;
        }
    }
    __syncthreads();
    for (unsigned block = 0; block < blocks_in_cluster(); ++block) {
        unsigned words = __ballot_sync(whole_warp, waiting[block][lane_index()] != 0);
        for (; words != 0; words &= words - 1) {
            const int warp = __ffs(static_cast<int>(words)) - 1;
            const std::int64_t window = first + block * long_segment_threads + warp * warp_lanes;
            for (unsigned left = waiting[block][warp]; left != 0; left &= left - 1) {
                const LongSegment<T> next(a, map, window + __ffs(static_cast<int>(left)) - 1);
                const auto value = cluster_tree_over_runs<T, Op>(next.runs);
                if (block_in_cluster() == 0 && threadIdx.x == 0) {
                    finish_result(value, static_cast<std::uint64_t>(next.elements), a.finish, a.output,
                                  static_cast<std::size_t>(next.number));
                }
            }
        }
    }
}

// Whether a long segment begins in one of the cluster's windows from number `first` on: in most calls in none. All that
// is to be read is asked for at once, by every block alike.
__device__ __forceinline__ bool any_long_segment(const SegmentArguments &a, const SegmentMap &map, std::int64_t first) {
    std::int64_t segment = -1;
#pragma unroll
    for (int block = 0; block < long_segment_cluster; ++block) {
        const std::int64_t window = first + block * long_segment_threads + threadIdx.x;
        if (static_cast<unsigned>(block) < blocks_in_cluster() && window < map.windows()) {
            segment = larger(segment, long_segment_in(a, window));
        }
    }
    return __syncthreads_or(segment >= 0) != 0;
}

// T and Op are those of the partial results. A thread for each window; what begins there is a warp's work, or the
// cluster's.
template <class T, class Op>
__global__ void __launch_bounds__(long_segment_threads)
    finish_long_segments(const __grid_constant__ SegmentArguments a) {
    const SegmentMap map(a); // the caller's offsets: what is in front of this call has been waited for
    pdl_wait();
    pdl_release();
    const unsigned block = block_in_cluster();
    const std::int64_t first = (std::int64_t{blockIdx.x} - block) * long_segment_threads;
    if (first < map.windows() && any_long_segment(a, map, first)) {
        finish_by_warp<T, Op>(a, map, first + block * long_segment_threads + threadIdx.x);
        finish_by_cluster<T, Op>(a, map, first);
    }
}

} // namespace wr::cuda
