// Checks of sizes, strides and pointers, in arithmetic that cannot wrap.
#pragma once

#include "numerics/problem.h"
#include "numerics/status.h"

#include <initializer_list>
#include <span>

namespace wr::capi {

// The bytes of an array, counted from its pointer: [low, high). Strides may put some of them below it.
struct Extent {
    std::int64_t low, high;
};

// An array's place in memory: [begin, end), both zero where there is none.
struct MemoryRange {
    std::uintptr_t begin, end;
};

struct Layout {
    Shape shape;
    Extent extent; // of the input
};

// size_overflow where more than 2^63 - 1 bytes are described; what is written to is then left alone.
//
// The extent of a contiguous array of so many elements in each direction; a factor of zero is an array of no bytes.
Status extent_of(std::initializer_list<std::size_t> sizes, std::size_t element_bytes, Extent &extent);

// How many elements a contiguous array of this extent has; none of a type that is none.
std::size_t elements_in(const Extent &extent, ElementType type);

// What a struct says of its strides: the flag, and whether any of them is not zero.
struct StridesAsked {
    std::int32_t given;
    bool any;
};

// invalid_option where the flag is none, or there are strides without it.
Status check_strides(StridesAsked asked);

// With strides each is taken as it is, but one along which no step is made, because the size is one, takes the
// contiguous value; without, all do.
Status layout_of(const Shape &given, bool strided, std::size_t element_bytes, Layout &layout);

// Where an array of this extent lies. An array of no bytes lies nowhere and needs no pointer; any other needs one that
// is not NULL and is aligned, and must not run over either end of the address space.
Status locate(const void *pointer, Extent extent, std::size_t alignment, MemoryRange &range);

// The same of an array of so many elements in each direction, which may not have been found to fit before.
Status locate_array(const void *pointer, std::initializer_list<std::size_t> sizes, std::size_t element_bytes,
                    std::size_t alignment, MemoryRange &range);

// The caller's workspace, of which `needed` bytes will be used; nullptr is none.
Status locate_workspace(const void *workspace, std::size_t bytes, std::size_t needed, MemoryRange &range);

// Where a call's int32_t for a status lies; nullptr is none.
Status locate_check(const std::int32_t *check, MemoryRange &range);

bool any_two_overlap(std::span<const MemoryRange> ranges);

// Whether one range shares bytes with any of the others.
bool overlaps_any(MemoryRange range, std::span<const MemoryRange> others);

// A workspace's size as the library states it: a multiple of its alignment.
std::size_t whole_workspace(std::size_t bytes);

} // namespace wr::capi
