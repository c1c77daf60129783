// A piece of the elements of neighbouring segments in shared memory, and how it gets there.
#pragma once

#include "cuda/common/vector_types.h"
#include "cuda/device/async_copy.cuh"
#include "cuda/reduce/arguments.h"
#include "cuda/reduce/tile_load.cuh"

namespace wr::cuda {

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

} // namespace wr::cuda
