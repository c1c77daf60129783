// What the offsets of a segmented reduction say, whatever they say.
#pragma once

#include "cuda/reduce/arguments.h"
#include "cuda/reduce/tile_load.cuh"

namespace wr::cuda {

// Segments of fewer elements on average are told from others.
inline constexpr std::size_t tiny_segment = 16;

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
    std::int64_t segment_work;
    int window_log2;

    __device__ __forceinline__ explicit SegmentMap(const SegmentArguments &a)
        : offsets(a.offsets), narrow(a.narrow_offsets), segments(a.segments), low(0), high(0),
          segment_work(a.segment_work), window_log2(a.least_window_log2) {
        low = larger<std::int64_t>(offset(0), 0);
        high = larger(offset(segments), low);
        if (a.input_count != 0) {
            high = smaller(high, static_cast<std::int64_t>(a.input_count));
            low = smaller(low, high);
        }
        // Where segments are tiny, to look through many windows takes longer than what ends late with few.
        const std::int64_t most = shorter_than(tiny_segment) ? most_segment_windows / 2 : most_segment_windows;
        while (windows() > most) {
            ++window_log2;
        }
    }

    // Whether segments have fewer elements than that on average.
    __device__ __forceinline__ bool shorter_than(std::size_t elements) const {
        return high - low < static_cast<std::int64_t>(segments * elements);
    }

    __device__ __forceinline__ std::int64_t offset(std::size_t i) const {
        return narrow ? static_cast<const std::int32_t *>(offsets)[i] : static_cast<const std::int64_t *>(offsets)[i];
    }
    __device__ __forceinline__ std::int64_t within(std::int64_t element) const {
        return smaller(larger(element, low), high);
    }
    __device__ __forceinline__ SegmentBounds bounds(std::size_t segment) const {
        return bounds(offset(segment), offset(segment + 1));
    }
    __device__ __forceinline__ SegmentBounds bounds(std::int64_t offset, std::int64_t next_offset) const {
        const std::int64_t begin = within(offset);
        return {begin, larger(begin, within(next_offset))};
    }
    __device__ __forceinline__ std::int64_t window() const { return std::int64_t{1} << window_log2; }
    __device__ __forceinline__ int grain_log2() const { return window_log2 - segment_grains_log2; }

    // Where a segment that begins at an element begins on the line, and how many windows and grains the line has.
    __device__ __forceinline__ std::int64_t place(std::size_t segment, std::int64_t begin) const {
        return begin - low + static_cast<std::int64_t>(segment) * segment_work;
    }
    __device__ __forceinline__ std::int64_t windows() const {
        return (place(segments, high) + window() - 1) >> window_log2;
    }
    __device__ __forceinline__ unsigned grains() const {
        return static_cast<unsigned>(windows()) << segment_grains_log2;
    }
    template <class T>
    __device__ __forceinline__ ReadableRange readable_range(const void *input) const {
        return {reinterpret_cast<const char *>(static_cast<const T *>(input) + low),
                reinterpret_cast<const char *>(static_cast<const T *>(input) + high)};
    }

    // How many segments begin before a place of the line; the warp looks at 32 at a time.
    __device__ __forceinline__ std::size_t segments_before(std::int64_t line) const {
        std::size_t first = 0, count = segments + 1; // the answer is first or one of the count - 1 behind it
        while (count > 1) {
            const std::size_t step = divide_up(count, std::size_t{warp_lanes});
            const std::size_t probe = first + static_cast<std::size_t>(lane_index()) * step;
            const bool before =
                lane_index() != 0 && probe < first + count && place(probe - 1, within(offset(probe - 1))) < line;
            const unsigned found = __ballot_sync(whole_warp, before || lane_index() == 0);
            const auto last = static_cast<std::size_t>(31 - __clz(static_cast<int>(found)));
            count = smaller(step, count - last * step);
            first += last * step;
        }
        return first;
    }
};

} // namespace wr::cuda
