// Segments: windows of the elements by a block each, and the ends of segments that are longer than one.
#pragma once

#include "cuda/device/barriers.cuh"
#include "cuda/device/warp_tree.cuh"
#include "cuda/reduce/finish.cuh"
#include "cuda/reduce/partials.cuh"
#include "cuda/reduce/quick_way.cuh"
#include "cuda/reduce/stage.cuh"
#include "cuda/reduce/tile_access.cuh"
#include "cuda/segments/walk.cuh"

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

// Ragged rows. All segments stand on one line, a segment as long as its elements and a few more for its own work; the
// line is cut into shares, one a warp, which owns the segments that begin in its share. Elements of consecutive
// segments are neighbours in memory, so a warp copies them to shared memory piece by piece, one piece ahead of the one
// that it reduces, whatever the segments' lengths: a piece is up to 64 whole short segments, or a part of one that is
// longer.
//
// Shares are cut at grains, of which a window has several.
//
// A segment that is longer than a window is cut into runs of a window's length. A run is the share's in which it
// begins; its result waits at the number of the window of the line in which it begins, where at most one run of a
// segment's later ones and one first run can. A second kernel puts the runs of each long segment together.
//
// How long a window is follows from the offsets, which only the GPU can read, so that their number is bounded and the
// workspace is of one size.

static_assert(segment_block_threads == segment_block_warps * warp_lanes);

// The tree over 8 elements, number base ^ i of a run, in bytes; the identity stands for those from `valid` on, unless
// the run is known to be whole.
template <class T, class Op, bool Whole>
__device__ __forceinline__ typename Op::Accumulator tree_over_eight(const unsigned char *run, int base, int valid,
                                                                    const Mapping &m, std::size_t position) {
    constexpr int part = 8, size = static_cast<int>(sizeof(T));
    typename Op::Accumulator values[part];
#pragma unroll
    for (int i = 0; i < part; ++i) {
        const int at = base ^ (i * size);
        values[i] = Op::identity();
        if (Whole || at < valid) {
            values[i] = map_element<Op>(staged_element<T>(run + at), m, position + static_cast<std::size_t>(at / size));
        }
    }
    return tree_of_elements<Op>(values);
}

// The tree over the `valid` elements of a lane's run of 2^length_log2 (8 to 32). The runs of a segment's lanes begin
// in one bank of shared memory; so that they do not meet there, each lane takes element number i ^ turn where its
// neighbours take another: that changes which of two is the first of a pair, never the pairs.
template <class T, class Op, bool Whole>
__device__ __forceinline__ typename Op::Accumulator staged_run(const unsigned char *run, int valid, int length_log2,
                                                               const Mapping &m, std::size_t position) {
    constexpr int part = 8, size = static_cast<int>(sizeof(T));
    const int turn = lane_index() >> (5 - length_log2);
    auto lower = Op::identity(), upper = Op::identity();
#pragma unroll 1
    for (int first = 0; first < 1 << length_log2; first += part) {
        const auto eight = tree_over_eight<T, Op, Whole>(run, (first ^ turn) * size, valid * size, m, position);
        const bool low = first < run_elements / 2;
        const auto half = Op::combine(low ? lower : upper, eight);
        lower = low ? half : lower;
        upper = low ? upper : half;
    }
    return Op::combine(lower, upper);
}

// Whole segments of up to 8 elements, one a lane.
template <class T, class Op>
__device__ __forceinline__ void reduce_tiny_segments(const SegmentArguments &a, const StagedPiece &piece) {
    const std::size_t segment = piece.what.segment;
    const unsigned items = piece.what.items;
    const unsigned char *start = piece.memory + piece.what.shape % line_bytes;
#pragma unroll 1
    for (auto item = static_cast<unsigned>(lane_index()); item < items; item += warp_lanes) {
        const unsigned place = piece.places[item], count = place >> 16;
        const auto value =
            tree_over_eight<T, Op, false>(start + (place & 0xFFFFu) * static_cast<unsigned>(sizeof(T)),
                                          lane_index() / 4 * static_cast<int>(sizeof(T)),
                                          static_cast<int>(count * static_cast<unsigned>(sizeof(T))), a.mapping, 0);
        finish_result(value, std::uint64_t{count}, a.finish, a.output, segment + item);
    }
}

// Several items at once, each by as many neighbouring lanes as the longest needs. False where the share has ended.
template <class T, class Op, bool Quick>
__device__ __forceinline__ bool reduce_piece(const SegmentArguments &a, const StagedPiece &piece,
                                             WarpCounter<Op> &parts) {
    const auto what = piece.what;
    const bool is_part = (what.shape >> shape_part) != 0;
    const int lanes_log2 = static_cast<int>(what.shape >> shape_lanes & 7u), lane = lane_index();
    const int lane_of_item = lane & ((1 << lanes_log2) - 1);
    const bool few = (what.shape >> shape_few & 1u) != 0;
    if (Quick && few && lanes_log2 == 0) {
        reduce_tiny_segments<T, Op>(a, piece);
        return true;
    }
    const unsigned char *start = piece.memory + what.shape % line_bytes;
#pragma unroll 1
    for (unsigned done = 0; done < what.items; done += unsigned{warp_lanes} >> lanes_log2) {
        const unsigned item = done + static_cast<unsigned>(lane >> lanes_log2);
        const unsigned place = item < what.items ? piece.places[item] : 0, count = place >> 16;
        int length_log2 = 3;
        if (!few) {
            const unsigned longest = larger(__reduce_max_sync(whole_warp, count), 8u << lanes_log2);
            length_log2 = log2_rounded_up(longest) - lanes_log2;
        }
        const int run = lane_of_item << length_log2;
        std::size_t position = static_cast<std::size_t>(run);
        if constexpr (Op::positional) {
            position += is_part ? static_cast<std::size_t>(piece.part.position) + item * most_elements_at_once : 0;
        }
        const unsigned char *elements =
            start + ((place & 0xFFFFu) + static_cast<unsigned>(run)) * static_cast<unsigned>(sizeof(T));
        const int valid = static_cast<int>(count) - run;
        auto value = Op::identity();
        if (Quick && is_part && count == most_elements_at_once) {
            value = staged_run<T, Op, true>(elements, valid, 5, a.mapping, position);
        } else {
            value = by_quick_way<Op>([=, &a](auto way) {
                return staged_run<T, decltype(way), false>(elements, valid, length_log2, a.mapping, position);
            });
        }
        if (lanes_log2 == 5) {
#pragma unroll
            for (int lanes = 1; lanes < warp_lanes; lanes *= 2) {
                value = Op::combine(value, from_lane_xor(value, lanes));
            }
        } else {
            value = tree_over_lanes<Op>(value, 1 << lanes_log2);
        }
        if (is_part) {
            parts.push(Op::settle(value));
        } else if (lane_of_item == 0 && item < what.items) {
            finish_result(value, std::uint64_t{count}, a.finish, a.output, what.segment + item);
        }
    }
    const unsigned end = what.shape >> shape_end & 3u;
    if (end != nothing_ends) {
        const auto value = parts.take();
        if (lane_index() == 0) {
            if (end == segment_ends) {
                finish_result(value, static_cast<std::uint64_t>(piece.part.position) + piece.part.elements, a.finish,
                              a.output, what.segment);
            } else {
                store_partial<Op>(value, end == first_run_ends ? a.first_runs : a.later_runs, piece.part.window);
            }
        }
    }
    return what.items != 0;
}

// Shares that the line is cut into. To begin one takes as long as a thousand tiny segments.
__device__ __forceinline__ std::size_t shares_of(const SegmentMap &map) {
    const std::size_t warps = gridDim.x * std::size_t{segment_block_warps};
    return map.shorter_than(tiny_segment) ? warps / 2 : warps;
}

// Where segments have so many elements on average, their shares fall by the eighth power of 1 minus so much of
// those taken, instead of the square (microseconds of the kernel alone for one of 2^29 among 10^5 of 0 to 8: 487 for
// 491; but for 10^6 of 0 to 1024 529 for 524).
inline constexpr std::size_t long_segment = 2048;
inline constexpr float long_segment_shares_fall = 0.375f;

// What is left of the line, 1 to 0, when so many of its shares, 0 to 1, are taken. Shares get smaller, so that all
// warps end at nearly the same time: where segments are long, each by a part of what is left, down to small ones; where
// they are not, to begin one costs more, and they get smaller evenly, down to nothing. Never more for more.
__device__ __forceinline__ float line_left(bool long_segments, float taken) {
    if (!long_segments) {
        return (1.0f - taken) * (1.0f - taken);
    }
    const auto eighth_power = [](float x) {
        x *= x;
        x *= x;
        return x * x;
    };
    constexpr float fall = long_segment_shares_fall;
    const float end = eighth_power(1.0f - fall);
    return (eighth_power(1.0f - fall * taken) - end) / (1.0f - end);
}

// The grain that a share begins with; shares behind the last one have nothing.
__device__ __forceinline__ unsigned share_begin(const SegmentMap &map, std::size_t share, std::size_t shares) {
    const auto all = static_cast<float>(map.grains()), count = static_cast<float>(shares);
    const float taken = smaller(static_cast<float>(share), count) / count;
    return static_cast<unsigned>(all - all * line_left(!map.shorter_than(long_segment), taken));
}

// A share of the line, whole grains, for each warp of the grid. Quick: with paths of their own for tiny segments and
// for the inside of long ones.
template <class T, class Op, bool Quick>
__global__ void __launch_bounds__(segment_block_threads, sizeof(typename Op::Accumulator) <= 8 ? 6 : 4)
    reduce_segments(const __grid_constant__ SegmentArguments a) {
    __shared__ StagedPiece stage[segment_block_warps][2];
    pdl_wait();
    pdl_release();
    const SegmentMap map(a);
    const std::size_t share = blockIdx.x * std::size_t{segment_block_warps} + static_cast<std::size_t>(warp_index());
    const std::size_t shares = shares_of(map);
    const unsigned first = share_begin(map, share, shares), last = share_begin(map, share + 1, shares);
    if (first == last) {
        return;
    }
#pragma unroll 1
    for (unsigned g = first + static_cast<unsigned>(lane_index()); g < last; g += warp_lanes) {
        a.long_segments[g] = -1;
    }
    __syncwarp();
    SegmentWalk<T> walk(map, static_cast<const T *>(a.input), std::int64_t{first} << map.grain_log2(),
                        std::int64_t{last} << map.grain_log2());
    WarpCounter<Op> parts;
    // One piece is on its way while the one before it is reduced.
    int turn = 0;
    for (bool more = true, started = false; more; started = true) {
        walk.template request<Quick>(stage[warp_index()][turn], a.long_segments);
        commit_copies();
        turn ^= 1;
        if (started) {
            wait_for_copies_before_last();
            __syncwarp();
            more = reduce_piece<T, Op, Quick>(a, stage[warp_index()][turn], parts);
            __syncwarp();
        }
    }
}

} // namespace wr::cuda
