// Ragged rows. Segments of up to a window's length are each a lane's or a warp's. Longer ones are cut into runs of a
// window's length, of which at most two start in any window of the input: a warp takes those of a window, and leaves
// their results where the window's number says. A second kernel puts the runs of each long segment together.
//
// How long a window is follows from the offsets, which only the GPU can read, so that their number is bounded and the
// workspace is of one size.
#pragma once

#include "cuda/reduce_rows.cuh"
#include "cuda/run_tree.cuh"
#include "numerics/tree.h"

namespace wr::cuda {

inline constexpr int segment_block_warps = 8;
inline constexpr int segment_block_threads = segment_block_warps * warp_lanes;

struct SegmentBounds {
    std::int64_t begin, end;

    __device__ __forceinline__ std::int64_t count() const { return end - begin; }
};

// What the offsets say, read so that nothing outside [low, high) is ever touched.
struct SegmentMap {
    const void *offsets;
    bool narrow;
    std::size_t segments;
    std::int64_t low, high;
    std::int64_t window;

    __device__ __forceinline__ explicit SegmentMap(const SegmentArguments &a)
        : offsets(a.offsets), narrow(a.narrow_offsets), segments(a.segments), low(0), high(0), window(a.least_window) {
        low = larger<std::int64_t>(offset(0), 0);
        high = larger(offset(segments), low);
        if (a.input_count != 0) {
            high = smaller(high, static_cast<std::int64_t>(a.input_count));
            low = smaller(low, high);
        }
        while (windows() > most_segment_windows) {
            window *= 2;
        }
    }

    __device__ __forceinline__ std::int64_t offset(std::size_t i) const {
        return narrow ? static_cast<const std::int32_t *>(offsets)[i] : static_cast<const std::int64_t *>(offsets)[i];
    }
    __device__ __forceinline__ SegmentBounds bounds(std::size_t segment) const {
        const std::int64_t begin = within(offset(segment)), end = within(offset(segment + 1));
        return {begin, larger(begin, end)};
    }
    __device__ __forceinline__ std::int64_t within(std::int64_t element) const {
        return smaller(larger(element, low), high);
    }
    __device__ __forceinline__ std::int64_t windows() const { return divide_up(high - low, window); }
    template <class T>
    __device__ __forceinline__ Hull hull(const void *input) const {
        return {reinterpret_cast<const char *>(static_cast<const T *>(input) + low),
                reinterpret_cast<const char *>(static_cast<const T *>(input) + high)};
    }

    // The last segment, from `from` on, that begins at or before an element; the warp looks at 32 at a time.
    __device__ __forceinline__ std::size_t find(std::int64_t element, std::size_t from) const {
        std::size_t first = from, count = segments - from; // the answer is first or one of the count - 1 behind it
        while (count > 1) {
            const std::size_t step = divide_up(count, std::size_t{warp_lanes});
            const std::size_t probe = first + static_cast<std::size_t>(lane_index()) * step;
            const bool before = probe < first + count && offset(probe) <= element;
            const unsigned found = __ballot_sync(whole_warp, before || lane_index() == 0);
            const auto last = static_cast<std::size_t>(31 - __clz(static_cast<int>(found)));
            count = smaller(step, count - last * step);
            first += last * step;
        }
        return first;
    }
};

// `count` elements of a segment from its element `position`, a multiple of a tile, on; in lane 0. More than a warp
// keeps a tile's result a lane for are pushed in order.
template <class T, class Op>
__device__ __noinline__ typename Op::Accumulator warp_run(const T *segment, std::int64_t position, std::int64_t count,
                                                          Hull hull, const Mapping &m) {
    constexpr int elements = tile_elements<T>;
    const Row<T> row{segment, static_cast<std::size_t>(position + count), 1};
    const auto first = static_cast<std::size_t>(position) / elements;
    const auto tiles = divide_up(static_cast<std::size_t>(count), static_cast<std::size_t>(elements));
    const auto part = [&](std::size_t done) {
        return warp_reduce<ShiftedAccess<T, Op>, T, Op>(row, hull, first + done, most_tiles_a_warp, m);
    };
    if (tiles <= most_tiles_a_warp) {
        return part(0);
    }
    TreeCounter<Partial<Op>, 48> counter;
    for (std::size_t done = 0; done < tiles; done += most_tiles_a_warp) {
        counter.push(Op::settle(part(done)));
    }
    return counter.result();
}

// Elements that a warp reduces with one load of each of its lanes' registers: the longest of the middling segments.
inline constexpr int short_segment = 1024;

// The tree over up to short_segment consecutive elements, all of them asked for before the first is used; in every
// lane.
template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator short_segment_tree(const T *x, int count, const Mapping &m) {
    constexpr int parts = short_segment / (warp_lanes * tree_registers);
    T raw[parts][tree_registers];
#pragma unroll
    for (int p = 0; p < parts; ++p) {
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            const int at = (p * tree_registers + v) * warp_lanes + lane_index();
            if (at < count) {
                raw[p][v] = x[at];
            }
        }
    }
    auto mine = Op::identity();
#pragma unroll
    for (int p = 0; p < parts; ++p) {
        if (p * tree_registers * warp_lanes >= count) {
            break;
        }
        typename Op::Accumulator values[tree_registers];
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            const int at = (p * tree_registers + v) * warp_lanes + lane_index();
            values[v] = at < count ? map_element<Op>(raw[p][v], m, static_cast<std::size_t>(at)) : Op::identity();
        }
        const auto sum = tile_result<Op>(values);
        if constexpr (Op::order_free) {
            mine = Op::combine(mine, sum);
        } else {
            mine = lane_index() == p ? sum : mine;
        }
    }
    return tree_over_lanes<Op>(mine, Op::order_free ? warp_lanes : parts);
}

// 32 segments, one a lane: those of few elements are the lanes' own, the others each the whole warp's.
template <class T, class Op>
__device__ __forceinline__ void reduce_segment_group(const SegmentArguments &a, const SegmentMap &map,
                                                     std::size_t first) {
    const std::size_t segment = first + static_cast<std::size_t>(lane_index());
    std::int64_t begin = 0, count = 0;
    if (segment < a.segments) {
        const SegmentBounds bounds = map.bounds(segment);
        begin = bounds.begin;
        count = bounds.count();
    }
    const T *input = static_cast<const T *>(a.input);
    if (segment < a.segments && count <= run_elements) {
        const T *elements = input + begin;
        const auto value = run_tree<Op>([&](int i) { return elements[i]; }, static_cast<int>(count), a.mapping, 0);
        finish_result(value, static_cast<std::uint64_t>(count), a.finish, a.output, segment);
    }
    unsigned left = __ballot_sync(whole_warp, count > run_elements && count <= map.window);
    while (left != 0) {
        const int lane = __ffs(static_cast<int>(left)) - 1;
        left &= left - 1;
        const auto from = static_cast<std::int64_t>(__shfl_sync(whole_warp, static_cast<long long>(begin), lane));
        const auto length = static_cast<std::int64_t>(__shfl_sync(whole_warp, static_cast<long long>(count), lane));
        const auto value = length <= short_segment
                               ? short_segment_tree<T, Op>(input + from, static_cast<int>(length), a.mapping)
                               : warp_run<T, Op>(input + from, 0, length, map.hull<T>(a.input), a.mapping);
        if (lane_index() == 0) {
            finish_result(value, static_cast<std::uint64_t>(length), a.finish, a.output,
                          first + static_cast<std::size_t>(lane));
        }
    }
}

// The runs of long segments that start in window number w: the next one of the segment that the window begins in, and
// the first one of a segment that begins in the window. `found` is that of a window before.
template <class T, class Op>
__device__ __forceinline__ void reduce_window(const SegmentArguments &a, const SegmentMap &map, std::int64_t w,
                                              std::size_t &found) {
    const std::int64_t start = map.low + w * map.window, stop = smaller(start + map.window, map.high);
    const T *input = static_cast<const T *>(a.input);
    const Hull hull = map.hull<T>(a.input);
    const auto run = [&](const SegmentBounds &segment, std::int64_t position, void *to) {
        const std::int64_t count = smaller(map.window, segment.count() - position);
        const auto value = warp_run<T, Op>(input + segment.begin, position, count, hull, a.mapping);
        if (lane_index() == 0) {
            store_partial<Op>(value, to, static_cast<std::size_t>(w));
        }
    };
    SegmentBounds segment = map.bounds(found);
    if (segment.end <= start || segment.begin > start) {
        found = map.find(start, 0);
        segment = map.bounds(found);
    }
    if (segment.count() > map.window && segment.begin < start) {
        const std::int64_t position = divide_up(start - segment.begin, map.window) * map.window;
        if (position < segment.count()) {
            run(segment, position, a.later_runs);
        }
    }
    if (segment.end < stop) {
        found = map.find(stop - 1, found);
        segment = map.bounds(found);
    }
    const bool begins = segment.count() > map.window && segment.begin >= start && segment.begin < stop;
    if (begins) {
        run(segment, 0, a.first_runs);
    }
    if (lane_index() == 0) {
        a.long_segments[w] = begins ? static_cast<std::int64_t>(found) : -1;
    }
}

// Blocks below a.group_blocks take groups of segments, the others windows, each warp one after the other.
template <class T, class Op>
__global__ void __launch_bounds__(segment_block_threads, 3)
    reduce_segments(const __grid_constant__ SegmentArguments a) {
    allow_dependent_launch();
    const SegmentMap map(a);
    const std::size_t block = a.first_block + blockIdx.x;
    if (block < a.group_blocks) {
        const std::size_t step = a.group_blocks * segment_block_warps * warp_lanes;
        for (std::size_t first = (block * segment_block_warps + static_cast<std::size_t>(warp_index())) * warp_lanes;
             first < a.segments; first += step) {
            reduce_segment_group<T, Op>(a, map, first);
        }
        return;
    }
    const auto warps = static_cast<std::int64_t>(a.window_blocks * segment_block_warps);
    std::size_t found = 0;
    for (std::int64_t w = static_cast<std::int64_t>((block - a.group_blocks) * segment_block_warps) + warp_index();
         w < map.windows(); w += warps) {
        reduce_window<T, Op>(a, map, w, found);
    }
}

// The tree over the runs of a long segment that begins in window w, by a block; in thread 0.
template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator tree_over_runs(const SegmentArguments &a, std::int64_t w,
                                                                   std::size_t runs) {
    constexpr std::size_t tile = ScatteredAccess<T, Op>::elements;
    const auto *first = static_cast<const T *>(a.first_runs) + w;
    const auto *later = static_cast<const T *>(a.later_runs) + w;
    int tiles = 1;
    while (static_cast<std::size_t>(tiles) * tile * segment_block_warps < runs) {
        tiles *= 2;
    }
    const std::size_t start = static_cast<std::size_t>(warp_index()) * static_cast<std::size_t>(tiles) * tile;
    auto mine = Op::identity();
    for (int t = 0; t < tiles && start + static_cast<std::size_t>(t) * tile < runs; ++t) {
        typename Op::Accumulator values[tree_registers];
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            const std::size_t at =
                start + static_cast<std::size_t>(t) * tile + static_cast<std::size_t>(v * warp_lanes + lane_index());
            values[v] = Op::identity();
            if (at < runs) {
                values[v] = Op::map(at == 0 ? *first : later[at], Mapping{});
            }
        }
        const auto sum = tile_result<Op>(values);
        if constexpr (Op::order_free) {
            mine = Op::combine(mine, sum);
        } else {
            mine = lane_index() == t ? sum : mine;
        }
    }
    mine = tree_over_lanes<Op>(mine, Op::order_free ? warp_lanes : tiles);
    __shared__ typename Op::Accumulator results[segment_block_warps];
    if (lane_index() == 0) {
        results[warp_index()] = Op::settle(mine);
    }
    __syncthreads();
    mine = results[lane_index() % segment_block_warps];
    __syncthreads();
    return tree_over_lanes<Op>(mine, segment_block_warps);
}

// T and Op are those of the partial results. A block takes every window whose number is its own modulo the grid.
template <class T, class Op>
__global__ void __launch_bounds__(segment_block_threads)
    finish_long_segments(const __grid_constant__ SegmentArguments a) {
    wait_for_previous_kernel();
    const SegmentMap map(a);
    const std::int64_t windows = map.windows();
    for (std::int64_t w = blockIdx.x; w < windows; w += gridDim.x) {
        const std::int64_t segment = a.long_segments[w];
        if (segment < 0) {
            continue;
        }
        const auto index = static_cast<std::size_t>(segment);
        const std::int64_t count = map.bounds(index).count();
        const auto runs = static_cast<std::size_t>(divide_up(count, map.window));
        const auto value = tree_over_runs<T, Op>(a, w, runs);
        if (threadIdx.x == 0) {
            finish_result(value, static_cast<std::uint64_t>(count), a.finish, a.output, index);
        }
    }
}

} // namespace wr::cuda
