// What the offsets of a segmented reduction say, whatever they say, and the walk over the segments of a window.
#pragma once

#include "cuda/common/vectors.h"
#include "cuda/device/intrinsics.cuh"
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

// A piece of the elements of neighbouring segments in shared memory, and how it gets there.

// Bytes of a piece.
inline constexpr int piece_bytes = 4096;

// The longest whole segment of a piece: what a warp reduces at once.
inline constexpr unsigned most_elements_at_once = warp_lanes * run_elements;

template <class T>
inline constexpr unsigned piece_elements = static_cast<unsigned>(piece_bytes / sizeof(T));

// Segments that a lane looks at, one of each group of 32.
inline constexpr int looks = 2;
inline constexpr int most_whole_segments = looks * warp_lanes;

// The longest segments that a lane reduces alone.
inline constexpr unsigned tiny_elements = 8;

// What ends with a part.
enum PartEnd : unsigned { nothing_ends, segment_ends, first_run_ends, later_run_ends };

// A piece in shared memory, and what there is to do with it. Whole segments and parts look alike: `items` neighbouring
// stretches of elements (of a part: of as many as are reduced at once).
struct alignas(line_bytes) StagedPiece {
    unsigned char memory[piece_bytes + line_bytes];
    struct alignas(16) {
        std::size_t segment; // the first one, or the part's
        unsigned items;      // 0: the share has come to its end
        unsigned shape;
    } what;
    struct alignas(16) {
        std::int64_t position; // of the first element in the segment
        unsigned elements;
        unsigned window; // of a run that ends
    } part;
    unsigned places[most_whole_segments]; // of an item: its first element, and how many << 16
};

// Bits of `shape`: in front of the first element, bytes; as powers of two, lanes that share an item; whether each of
// these has 8 elements at most; what ends; whether it is a part.
inline constexpr unsigned shape_lanes = 8, shape_end = 12, shape_part = 15, shape_few = 11;

// The vectors from number First to Last of which `left` says that they are wanted.
template <bool Once, int First, int Last>
__device__ __forceinline__ void copy_vectors(unsigned char *to, const char *from, int left) {
    if constexpr (First <= Last) {
        copy_vector_async<Once, First, piece_bytes / 2>(to, from, left);
        copy_vectors<Once, First + warp_lanes, Last>(to, from, left);
    }
}

// What elements are copied by where vectors may not be: they need not lie on boundaries of their own size.
template <class T>
using Grain =
    std::conditional_t<sizeof(T) == 1, unsigned char, std::conditional_t<sizeof(T) == 2, unsigned short, unsigned>>;

// A piece at an end of the caller's array, where vectors reach beyond it.
template <class T>
__device__ __noinline__ void copy_end_of_array(unsigned char *to, const char *from, int vectors,
                                               ReadableRange readable_range) {
    constexpr int bytes = static_cast<int>(sizeof(Grain<T>));
    for (int at = lane_index() * bytes; at < vectors * vector_bytes; at += warp_lanes * bytes) {
        if (from + at >= readable_range.begin && from + at < readable_range.end) {
            *reinterpret_cast<Grain<T> *>(to + at) = *reinterpret_cast<const Grain<T> *>(from + at);
        }
    }
}

__device__ __forceinline__ unsigned bytes_behind_line(const void *at) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at)) % line_bytes;
}

// Asks for `count` elements; `inside`: 16 bytes on either side belong to the array, too. Once: but for those at the
// ends, no line will be asked for again.
template <class T, bool Once>
__device__ __forceinline__ void request_elements(unsigned char *to, const T *elements, unsigned count, bool inside,
                                                 ReadableRange readable_range) {
    constexpr int all = piece_bytes / vector_bytes;
    const unsigned start = bytes_behind_line(elements);
    const char *base = reinterpret_cast<const char *>(elements) - start;
    const unsigned bytes = start + count * static_cast<unsigned>(sizeof(T));
    const int vectors = static_cast<int>((bytes + vector_bytes - 1) / vector_bytes);
    if (!inside) {
        copy_end_of_array<T>(to, base, vectors, readable_range);
        return;
    }
    const int lane = lane_index(), left = vectors - lane;
    const char *from = base + (lane * vector_bytes + piece_bytes / 2);
    unsigned char *at = to + lane * vector_bytes;
    copy_vector_async<Once, 0, piece_bytes / 2>(at, from, lane >= static_cast<int>(start / vector_bytes) ? left : 0);
    copy_vectors<Once, warp_lanes, all / 2 - 1>(at, from, left);
    if (vectors > all / 2) {
        copy_vectors<Once, all / 2, all>(at, from, left);
    }
}

// A warp's way along its share of all segments.

__device__ __forceinline__ int log2_rounded_up(unsigned value) { return 32 - __clz(static_cast<int>(value - 1)); }

// Lanes of a mask from the lowest on, up to the first that is missing.
__device__ __forceinline__ unsigned leading_lanes(unsigned mask) {
    return static_cast<unsigned>(__popc(mask & ~(mask + 1)));
}

// A warp's way along its share of the line, piece by piece. Segments are counted from the share's first, and elements
// from the first of that.
template <class T>
class SegmentWalk {
  public:
    __device__ __forceinline__ SegmentWalk(const SegmentMap &map, const T *input, std::int64_t line_begin,
                                           std::int64_t line_end)
        : map_(map), input_(input), line_end_(line_end) {
        first_ = line_begin == 0 ? 0 : map.segments_before(line_begin);
        left_ = static_cast<unsigned>(smaller<std::size_t>(map.segments - first_, most_room));
        next_ends_ = static_cast<const char *>(map.offsets) +
                     (first_ + static_cast<unsigned>(lane_index()) + 1) * (map.narrow ? 4 : 8);
        // All that is to be read here is asked for at once.
        const std::size_t before = first_ - smaller<std::size_t>(first_, 1);
        const std::int64_t begin_before = map.offset(before), begin = map.offset(first_);
        look_ahead();
        origin_ = left_ != 0 ? map.within(begin) : map.high;
        const std::int64_t line = left_ != 0 ? map.place(first_, origin_) : line_end;
        room_ = static_cast<unsigned>(smaller<std::int64_t>(larger<std::int64_t>(line_end - line, 0), most_room));
        farthest_ = static_cast<unsigned>(smaller<std::int64_t>(map.high - origin_, most_room));
        if (first_ > 0) {
            enter_long_segment(before, map.bounds(begin_before, begin), line_begin);
        }
    }

    // The share's next piece on its way to shared memory, or the news that there is none.
    template <bool Quick>
    __device__ __forceinline__ void request(StagedPiece &piece, std::int64_t *long_segments) {
        const ReadableRange readable_range = map_.template readable_range<T>(input_);
        if (run_left_ == 0) {
            if (taken_ == owned_) {
                const unsigned base = group_end_;
                next_group();
                if constexpr (Quick) {
                    if (group_is_tiny(base)) {
                        take_tiny_group(piece, base, readable_range);
                        return;
                    }
                }
                if (owned_ == 0) {
                    if (lane_index() == 0) {
                        piece.what = {0, 0, 0};
                    }
                    return;
                }
            }
            const unsigned base = of_group(begin_, taken_), whole = whole_segments_from(base);
            if (whole != 0) {
                const T *elements = input_ + origin_ + base;
                const unsigned count = take_whole_segments(piece, base, whole, elements);
                request_elements<T, false>(piece.memory, elements, count, is_inside(base, count), readable_range);
                return;
            }
            enter_segment(long_segments);
        }
        if (run_left_ != 0) {
            const bool inside = run_next_ >= map_.low + margin && run_next_ + piece_elements<T> + margin <= map_.high;
            const T *elements = input_ + run_next_;
            request_elements<T, Quick>(piece.memory, elements, take_part(piece, elements), inside, readable_range);
        }
    }

  private:
    static constexpr unsigned most_room = 1u << 30, too_many = 1u << 30;
    static constexpr unsigned margin = vector_bytes;

    // The segments of the share among the next ones. A segment begins where the one before it ends.
    __device__ __forceinline__ void next_group() {
        unsigned owned = 0;
#pragma unroll
        for (int g = 0; g < looks; ++g) {
            const unsigned segment = next_group_ + static_cast<unsigned>(g * warp_lanes + lane_index());
            const unsigned end = relative(next_end_[g]), before = __shfl_up_sync(whole_warp, end, 1);
            begin_[g] = lane_index() == 0 ? group_end_ : before;
            count_[g] = end < begin_[g] ? 0 : end - begin_[g];
            count_[g] = count_[g] > most_elements_at_once ? too_many : count_[g];
            const bool mine = segment < left_ && begin_[g] + segment * static_cast<unsigned>(map_.segment_work) < room_;
            const unsigned lanes = leading_lanes(__ballot_sync(whole_warp, mine));
            owned += owned == g * unsigned{warp_lanes} ? lanes : 0;
            group_end_ = __shfl_sync(whole_warp, end, warp_lanes - 1);
        }
        group_ = next_group_;
        taken_ = 0;
        owned_ = owned;
        // Where not all are the share's, none of the next ones is.
        next_group_ = owned == most_whole_segments ? next_group_ + most_whole_segments : left_;
        look_ahead();
    }

    // Whether all segments of the group that begins at `base` have up to tiny_elements, one behind the other.
    __device__ __forceinline__ bool group_is_tiny(unsigned base) const {
        bool tiny = owned_ == most_whole_segments;
#pragma unroll
        for (int g = 0; g < looks; ++g) {
            tiny = tiny && count_[g] <= tiny_elements && begin_[g] - base <= (most_whole_segments - 1) * tiny_elements;
        }
        return __all_sync(whole_warp, tiny) != 0;
    }

    __device__ __forceinline__ void take_tiny_group(StagedPiece &piece, unsigned base, ReadableRange readable_range) {
        static_assert(most_whole_segments * tiny_elements * sizeof(T) <= piece_bytes);
        const T *elements = input_ + origin_ + base;
#pragma unroll
        for (int g = 0; g < looks; ++g) {
            piece.places[g * warp_lanes + lane_index()] = (begin_[g] - base) | count_[g] << 16;
        }
        if (lane_index() == 0) {
            piece.what = {first_ + group_, unsigned{most_whole_segments},
                          bytes_behind_line(elements) | 1u << shape_few};
        }
        taken_ = owned_;
        const unsigned count = of_group(begin_, taken_ - 1) + of_group(count_, taken_ - 1) - base;
        request_elements<T, false>(piece.memory, elements, count, is_inside(base, count), readable_range);
    }

    // Whether the elements from `base` on have neighbours enough on either side.
    __device__ __forceinline__ bool is_inside(unsigned base, unsigned count) const {
        return base + static_cast<unsigned>(smaller<std::int64_t>(origin_ - map_.low, margin)) >= margin &&
               base + count + margin <= farthest_;
    }

    __device__ __forceinline__ unsigned of_group(const unsigned (&values)[looks], unsigned segment) const {
        unsigned value = values[0];
#pragma unroll
        for (int g = 1; g < looks; ++g) {
            value = segment >= g * unsigned{warp_lanes} ? values[g] : value;
        }
        return __shfl_sync(whole_warp, value, static_cast<int>(segment % warp_lanes));
    }

    // How many segments from the next one on fit a piece, which begins at `base`.
    __device__ __forceinline__ unsigned whole_segments_from(unsigned base) const {
        constexpr unsigned most = piece_elements<T>;
        unsigned end = 0;
#pragma unroll
        for (int g = 0; g < looks; ++g) {
            const auto segment = static_cast<unsigned>(g * warp_lanes + lane_index());
            const unsigned ahead = begin_[g] - base;
            const bool behind = segment < owned_, fits = ahead <= most, ends = ahead + count_[g] <= most;
            const unsigned lanes = leading_lanes(__ballot_sync(whole_warp, segment < taken_ || (behind & fits & ends)));
            end += end == g * unsigned{warp_lanes} ? lanes : 0;
        }
        return end - taken_;
    }

    // Describes the piece; its number of elements.
    __device__ __forceinline__ unsigned take_whole_segments(StagedPiece &piece, unsigned base, unsigned whole,
                                                            const T *elements) {
        unsigned longest = 1, ends[looks];
#pragma unroll
        for (int g = 0; g < looks; ++g) {
            const unsigned item = static_cast<unsigned>(g * warp_lanes + lane_index()) - taken_;
            ends[g] = begin_[g] - base + count_[g];
            if (item < whole) {
                piece.places[item] = (begin_[g] - base) | count_[g] << 16;
                longest = larger(longest, count_[g]);
            }
        }
        longest = __reduce_max_sync(whole_warp, longest);
        const int lanes_log2 = larger(log2_rounded_up(larger(longest, unsigned{run_elements})),
                                      10 - log2_rounded_up(smaller(whole, 32u))) -
                               5;
        if (lane_index() == 0) {
            piece.what = {first_ + group_ + taken_, whole,
                          bytes_behind_line(elements) | static_cast<unsigned>(lanes_log2) << shape_lanes |
                              (longest <= 8u << lanes_log2 ? 1u << shape_few : 0)};
        }
        taken_ += whole;
        return of_group(ends, taken_ - 1);
    }

    // The next segment becomes the one whose parts are the next pieces.
    __device__ __forceinline__ void enter_segment(std::int64_t *long_segments) {
        const std::size_t number = first_ + group_ + taken_;
        const SegmentBounds segment = map_.bounds(number);
        const std::int64_t line = map_.place(number, segment.begin);
        set_run(number, segment, line, 0);
        if (segment.count() > map_.window() && lane_index() == 0) {
            long_segments[line >> map_.grain_log2()] = static_cast<std::int64_t>(number);
        }
        ++taken_;
    }

    // The runs that begin in the share of a segment that begins before it.
    __device__ __forceinline__ void enter_long_segment(std::size_t number, const SegmentBounds &segment,
                                                       std::int64_t line_begin) {
        const std::int64_t line = map_.place(number, segment.begin);
        const std::int64_t position = run_boundary(line_begin - line);
        if (segment.count() > map_.window() && position < segment.count()) {
            set_run(number, segment, line, position);
        }
    }

    __device__ __forceinline__ void set_run(std::size_t number, const SegmentBounds &segment, std::int64_t line,
                                            std::int64_t position) {
        run_segment_ = number;
        run_next_ = segment.begin + position;
        run_position_ = position;
        run_left_ = larger<std::int64_t>(smaller(segment.count(), run_boundary(line_end_ - line)) - position, 0);
        run_window_ = static_cast<unsigned>((line + position) >> map_.window_log2);
        run_end_ = segment.count() <= map_.window() ? segment_ends : position == 0 ? first_run_ends : later_run_ends;
        window_left_ = static_cast<unsigned>(smaller(run_left_, map_.window()));
    }

    // Describes the piece; its number of elements.
    __device__ __forceinline__ unsigned take_part(StagedPiece &piece, const T *elements) {
        const unsigned count = smaller<unsigned>(window_left_, piece_elements<T>);
        const unsigned items = (count + most_elements_at_once - 1) / most_elements_at_once;
        const auto lane = static_cast<unsigned>(lane_index());
        if (lane < items) {
            const unsigned begin = lane * most_elements_at_once;
            piece.places[lane] = begin | smaller<unsigned>(count - begin, most_elements_at_once) << 16;
        }
        window_left_ -= count;
        if (lane == 0) {
            const unsigned end = window_left_ == 0 ? run_end_ : nothing_ends;
            piece.what = {run_segment_, items,
                          bytes_behind_line(elements) | 5u << shape_lanes | end << shape_end | 1u << shape_part};
            piece.part = {run_position_, count, run_window_};
        }
        run_next_ += count;
        run_position_ += count;
        run_left_ -= count;
        if (window_left_ == 0) {
            window_left_ = static_cast<unsigned>(smaller(run_left_, map_.window()));
            run_end_ = later_run_ends;
            ++run_window_;
        }
        return count;
    }

    __device__ __forceinline__ std::int64_t run_boundary(std::int64_t position) const {
        return (position + map_.window() - 1) & -map_.window();
    }

    // Asks for the next group's offsets.
    __device__ __forceinline__ void look_ahead() {
        const unsigned segment = next_group_ + static_cast<unsigned>(lane_index());
        if (map_.narrow) {
            load_ends<std::int32_t>(segment);
        } else {
            load_ends<std::int64_t>(segment);
        }
    }
    template <class Offset>
    __device__ __forceinline__ void load_ends(unsigned segment) {
#pragma unroll
        for (int g = 0; g < looks; ++g) {
            if (segment + g * unsigned{warp_lanes} < left_) {
                next_end_[g] = reinterpret_cast<const Offset *>(next_ends_)[g * warp_lanes];
            }
        }
        next_ends_ += most_whole_segments * sizeof(Offset);
    }

    // An offset as the number of elements behind the share's first segment.
    __device__ __forceinline__ unsigned relative(std::int64_t offset) const {
        if (offset < origin_) {
            return 0; // not a difference below 0: of the smallest offset it would be one above
        }
        const auto ahead = static_cast<std::uint64_t>(offset - origin_);
        return ahead < farthest_ ? static_cast<unsigned>(ahead) : farthest_;
    }

    const SegmentMap &map_;
    const T *input_;
    std::int64_t line_end_;
    std::size_t first_;   // segment of the share
    std::int64_t origin_; // its first element
    unsigned room_;       // how far behind its place the share reaches
    unsigned farthest_;   // element behind the origin
    unsigned left_;       // segments from the first one on

    // The group of segments that is being taken: where each lane's begins and how many elements it has.
    unsigned group_ = 0, taken_ = 0, owned_ = 0;
    unsigned begin_[looks] = {}, count_[looks] = {};
    // The next one, as its offsets come from memory.
    unsigned next_group_ = 0, group_end_ = 0;
    const char *next_ends_; // the lane's first
    std::int64_t next_end_[looks] = {};

    // The segment whose parts are the next pieces.
    std::size_t run_segment_ = 0;
    std::int64_t run_next_ = 0, run_position_ = 0;
    std::int64_t run_left_ = 0; // elements until the share's last run of it ends,
    unsigned window_left_ = 0;  // and until this one does
    unsigned run_window_ = 0;
    unsigned run_end_ = 0;
};

} // namespace wr::cuda
