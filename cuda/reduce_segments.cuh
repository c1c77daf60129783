// Ragged rows. All segments stand on one line, a segment as long as its elements and a few more for its own work; the
// line is cut into shares, one a warp, which owns the segments that begin in its share. Elements of consecutive
// segments are neighbours in memory, so a warp copies them to shared memory piece by piece, one piece ahead of the one
// that it reduces, whatever the segments' lengths: a piece is up to 64 whole short segments, or a part of one that is
// longer.
//
// A segment that is longer than a window is cut into runs of a window's length. A run is the share's in which it
// begins; its result waits at the number of the window of the line in which it begins, where at most one run of a
// segment's later ones and one first run can. A second kernel puts the runs of each long segment together.
//
// How long a window is follows from the offsets, which only the GPU can read, so that their number is bounded and the
// workspace is of one size.
#pragma once

#include "cuda/async_copy.cuh"
#include "cuda/reduce_rows.cuh"
#include "cuda/stage.cuh"

namespace wr::cuda {

static_assert(segment_block_threads == segment_block_warps * warp_lanes);

// Bytes of a piece.
inline constexpr int piece_bytes = 4096;

// The longest whole segment of a piece: what a warp reduces at once.
inline constexpr unsigned most_elements_at_once = warp_lanes * run_elements;

template <class T>
inline constexpr unsigned piece_elements = static_cast<unsigned>(piece_bytes / sizeof(T));

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
        while (windows() > most_segment_windows) {
            ++window_log2;
        }
    }

    __device__ __forceinline__ std::int64_t offset(std::size_t i) const {
        return narrow ? static_cast<const std::int32_t *>(offsets)[i] : static_cast<const std::int64_t *>(offsets)[i];
    }
    __device__ __forceinline__ std::int64_t within(std::int64_t element) const {
        return smaller(larger(element, low), high);
    }
    __device__ __forceinline__ SegmentBounds bounds(std::size_t segment) const {
        const std::int64_t begin = within(offset(segment)), end = within(offset(segment + 1));
        return {begin, larger(begin, end)};
    }
    __device__ __forceinline__ std::int64_t window() const { return std::int64_t{1} << window_log2; }

    // Where a segment that begins at an element begins on the line, and how many windows the line has.
    __device__ __forceinline__ std::int64_t place(std::size_t segment, std::int64_t begin) const {
        return begin - low + static_cast<std::int64_t>(segment) * segment_work;
    }
    __device__ __forceinline__ std::int64_t windows() const {
        return (place(segments, high) + window() - 1) >> window_log2;
    }
    template <class T>
    __device__ __forceinline__ Hull hull(const void *input) const {
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

template <class T>
__device__ __forceinline__ T from_lane(const T &value, int lane) {
    unsigned words[sizeof(T) / sizeof(unsigned)];
    memcpy(words, &value, sizeof(T));
#pragma unroll
    for (unsigned &word : words) {
        word = __shfl_sync(whole_warp, word, lane);
    }
    T moved;
    memcpy(&moved, words, sizeof(T));
    return moved;
}

// TreeCounter (numerics/tree.h) for a warp: lane number l keeps level l. What is pushed is the same in every lane.
template <class Op>
class WarpCounter {
  public:
    using Accumulator = typename Op::Accumulator;

    __device__ __forceinline__ void push(Accumulator subtree) {
        int level = 0;
        for (unsigned c = count_; (c & 1u) != 0; c >>= 1) {
            subtree = Op::combine(from_lane(level_, level), subtree);
            ++level;
        }
        level_ = lane_index() == level ? subtree : level_;
        ++count_;
    }

    // The whole tree of at least one; starts again.
    __device__ __forceinline__ Accumulator take() {
        Accumulator whole = Op::identity();
        for (bool first = true; count_ != 0; first = false) {
            const Accumulator subtree = from_lane(level_, __ffs(static_cast<int>(count_)) - 1);
            whole = first ? subtree : Op::combine(subtree, whole);
            count_ &= count_ - 1;
        }
        return whole;
    }

  private:
    Accumulator level_ = Op::identity();
    unsigned count_ = 0;
};

// Segments that a lane looks at, one of each group of 32.
inline constexpr int looks = 2;
inline constexpr int most_whole_segments = looks * warp_lanes;

// Memory is read from the boundaries of its lines.
inline constexpr unsigned line_bytes = 128;

// What ends with a part.
enum PartEnd : unsigned { nothing_ends, segment_ends, first_run_ends, later_run_ends };

// A piece in shared memory, and what there is to do with it. Whole segments and parts look alike: `items` neighbouring
// stretches of elements (of a part: of as many as are reduced at once).
struct alignas(16) StagedPiece {
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
template <int First, int Last>
__device__ __forceinline__ void copy_vectors(unsigned char *to, const char *from, int left) {
    if constexpr (First <= Last) {
        copy_vector_async<First, piece_bytes / 2>(to, from, left);
        copy_vectors<First + warp_lanes, Last>(to, from, left);
    }
}

// What elements are copied by where vectors may not be: they need not lie on boundaries of their own size.
template <class T>
using Grain =
    std::conditional_t<sizeof(T) == 1, unsigned char, std::conditional_t<sizeof(T) == 2, unsigned short, unsigned>>;

// A piece at an end of the caller's array, where vectors reach beyond it.
template <class T>
__device__ __noinline__ void copy_end_of_array(unsigned char *to, const char *from, int vectors, Hull hull) {
    constexpr int bytes = static_cast<int>(sizeof(Grain<T>));
    for (int at = lane_index() * bytes; at < vectors * vector_bytes; at += warp_lanes * bytes) {
        if (from + at >= hull.begin && from + at < hull.end) {
            *reinterpret_cast<Grain<T> *>(to + at) = *reinterpret_cast<const Grain<T> *>(from + at);
        }
    }
}

__device__ __forceinline__ unsigned bytes_behind_line(const void *at) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at)) % line_bytes;
}

// Asks for `count` elements; `inside`: 16 bytes on either side belong to the array, too.
template <class T>
__device__ __forceinline__ void request_elements(unsigned char *to, const T *elements, unsigned count, bool inside,
                                                 Hull hull) {
    constexpr int all = piece_bytes / vector_bytes;
    const unsigned start = bytes_behind_line(elements);
    const char *base = reinterpret_cast<const char *>(elements) - start;
    const unsigned bytes = start + count * static_cast<unsigned>(sizeof(T));
    const int vectors = static_cast<int>((bytes + vector_bytes - 1) / vector_bytes);
    if (!inside) {
        copy_end_of_array<T>(to, base, vectors, hull);
        return;
    }
    const int lane = lane_index(), left = vectors - lane;
    const char *from = base + (lane * vector_bytes + piece_bytes / 2);
    unsigned char *at = to + lane * vector_bytes;
    copy_vector_async<0, piece_bytes / 2>(at, from, lane >= static_cast<int>(start / vector_bytes) ? left : 0);
    copy_vectors<warp_lanes, all / 2 - 1>(at, from, left);
    if (vectors > all / 2) {
        copy_vectors<all / 2, all>(at, from, left);
    }
}

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
        origin_ = map.high;
        std::int64_t line = line_end;
        if (left_ != 0) {
            origin_ = map.within(map.offset(first_));
            line = map.place(first_, origin_);
        }
        room_ = static_cast<unsigned>(smaller<std::int64_t>(larger<std::int64_t>(line_end - line, 0), most_room));
        farthest_ = static_cast<unsigned>(smaller<std::int64_t>(map.high - origin_, most_room));
        look_ahead();
        if (first_ > 0) {
            enter_long_segment(first_ - 1, line_begin);
        }
    }

    // The share's next piece on its way to shared memory, or the news that there is none.
    __device__ __forceinline__ void request(StagedPiece &piece, std::int64_t *long_segments) {
        const T *elements = nullptr;
        unsigned count = 0;
        bool inside = true;
        if (run_left_ == 0) {
            if (taken_ == owned_) {
                next_group();
                if (owned_ == 0) {
                    if (lane_index() == 0) {
                        piece.what = {0, 0, 0};
                    }
                    return;
                }
            }
            const unsigned base = of_group(begin_, taken_), whole = whole_segments_from(base);
            if (whole != 0) {
                elements = input_ + origin_ + base;
                count = take_whole_segments(piece, base, whole, elements);
                inside = base + static_cast<unsigned>(smaller<std::int64_t>(origin_ - map_.low, margin)) >= margin &&
                         base + count + margin <= farthest_;
            } else {
                enter_segment(long_segments);
            }
        }
        if (run_left_ != 0) {
            inside = run_next_ >= map_.low + margin && run_next_ + piece_elements<T> + margin <= map_.high;
            elements = input_ + run_next_;
            count = take_part(piece, elements);
        }
        request_elements(piece.memory, elements, count, inside, map_.template hull<T>(input_));
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
            long_segments[line >> map_.window_log2] = static_cast<std::int64_t>(number);
        }
        ++taken_;
    }

    // The runs that begin in the share of a segment that begins before it.
    __device__ __forceinline__ void enter_long_segment(std::size_t number, std::int64_t line_begin) {
        const SegmentBounds segment = map_.bounds(number);
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
        const std::int64_t ahead = offset - origin_;
        if (static_cast<std::uint64_t>(ahead) <= farthest_) {
            return static_cast<unsigned>(ahead);
        }
        return ahead < 0 ? 0 : farthest_;
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
#pragma unroll
    for (int width = 1; width < part; width *= 2) {
#pragma unroll
        for (int i = 0; i < part; i += 2 * width) {
            values[i] = Op::combine(values[i], values[i + width]);
        }
    }
    return values[0];
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
            value = staged_run<T, Op, false>(elements, valid, length_log2, a.mapping, position);
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

// The window that a share begins with. Shares are smaller the later they are, down to nothing, so that all warps end
// at nearly the same time.
__device__ __forceinline__ unsigned share_begin(std::int64_t windows, std::size_t share) {
    const auto shares = static_cast<float>(gridDim.x * segment_block_warps);
    const float left = (shares - static_cast<float>(share)) / shares, all = static_cast<float>(windows);
    return static_cast<unsigned>(all - all * left * left);
}

// A share of the line, whole windows, for each warp of the grid. Quick: with paths of their own for tiny segments and
// for the inside of long ones.
template <class T, class Op, bool Quick>
__global__ void __launch_bounds__(segment_block_threads, sizeof(typename Op::Accumulator) <= 8 ? 6 : 4)
    reduce_segments(const __grid_constant__ SegmentArguments a) {
    __shared__ StagedPiece stage[segment_block_warps][2];
    allow_dependent_launch();
    const SegmentMap map(a);
    const std::size_t share = blockIdx.x * std::size_t{segment_block_warps} + static_cast<std::size_t>(warp_index());
    const unsigned first = share_begin(map.windows(), share), last = share_begin(map.windows(), share + 1);
    if (first == last) {
        return;
    }
#pragma unroll 1
    for (unsigned w = first + static_cast<unsigned>(lane_index()); w < last; w += warp_lanes) {
        a.long_segments[w] = -1;
    }
    __syncwarp();
    SegmentWalk<T> walk(map, static_cast<const T *>(a.input), std::int64_t{first} << map.window_log2,
                        std::int64_t{last} << map.window_log2);
    WarpCounter<Op> parts;
    // One piece is on its way while the one before it is reduced.
    int turn = 0;
    for (bool more = true, started = false; more; started = true) {
        walk.request(stage[warp_index()][turn], a.long_segments);
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
