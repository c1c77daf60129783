#include "capi/checks.h"

#include <limits>

namespace wr::capi {

namespace {

constexpr std::size_t workspace_alignment = 16;

// Takes in the bytes that the last of `size` elements, `stride` elements apart, adds to a single one's.
bool widen_extent(Extent &extent, std::size_t size, std::ptrdiff_t stride, std::size_t element_bytes) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(size - 1, stride, &reach) || __builtin_mul_overflow(reach, element_bytes, &reach)) {
        return false;
    }
    std::int64_t &side = reach < 0 ? extent.low : extent.high;
    return !__builtin_add_overflow(side, reach, &side);
}

bool strided_extent(const Shape &s, std::size_t element_bytes, Extent &extent) {
    extent = {0, static_cast<std::int64_t>(element_bytes)};
    std::int64_t span = 0;
    return widen_extent(extent, s.outer, s.outer_stride, element_bytes) &&
           widen_extent(extent, s.axis, s.axis_stride, element_bytes) &&
           widen_extent(extent, s.inner, s.inner_stride, element_bytes) &&
           !__builtin_sub_overflow(extent.high, extent.low, &span);
}

// Every product of sizes is that of an array which was found to fit, or belongs to an array without elements.
Shape contiguous(const Shape &s) {
    const auto axis_stride = static_cast<std::ptrdiff_t>(s.inner);
    const auto outer_stride = static_cast<std::ptrdiff_t>(s.axis * s.inner);
    return {s.outer, s.axis, s.inner, outer_stride, axis_stride, 1};
}

void drop_strides_without_steps(Shape &s, const Shape &contiguous_shape) {
    s.outer_stride = s.outer == 1 ? contiguous_shape.outer_stride : s.outer_stride;
    s.axis_stride = s.axis == 1 ? contiguous_shape.axis_stride : s.axis_stride;
    s.inner_stride = s.inner == 1 ? contiguous_shape.inner_stride : s.inner_stride;
}

bool is_aligned(const void *pointer, std::size_t alignment) {
    return reinterpret_cast<std::uintptr_t>(pointer) % alignment == 0;
}

bool overlap(MemoryRange a, MemoryRange b) { return larger(a.begin, b.begin) < smaller(a.end, b.end); }

} // namespace

Status extent_of(std::initializer_list<std::size_t> sizes, std::size_t element_bytes, Extent &extent) {
    for (const std::size_t size : sizes) {
        if (size == 0) {
            extent = {0, 0};
            return Status::success;
        }
    }
    auto bytes = static_cast<std::int64_t>(element_bytes);
    for (const std::size_t size : sizes) {
        if (__builtin_mul_overflow(bytes, size, &bytes)) {
            return Status::size_overflow;
        }
    }
    extent = {0, bytes};
    return Status::success;
}

std::size_t elements_in(const Extent &extent, ElementType type) {
    const auto element_bytes = static_cast<std::size_t>(traits_of(type).size);
    return element_bytes == 0 ? 0 : static_cast<std::size_t>(extent.high) / element_bytes;
}

Status check_strides(StridesAsked asked) {
    const bool is_flag = asked.given == 0 || asked.given == 1;
    return is_flag && (asked.given == 1 || !asked.any) ? Status::success : Status::invalid_option;
}

Status layout_of(const Shape &given, bool strided, std::size_t element_bytes, Layout &layout) {
    Extent extent{};
    if (extent_of({given.outer, given.axis, given.inner}, element_bytes, extent) != Status::success) {
        return Status::size_overflow;
    }
    const Shape plain = contiguous(given);
    if (extent.high == 0 || !strided) {
        layout = {plain, extent};
        return Status::success;
    }
    Shape shape = given;
    if (!strided_extent(shape, element_bytes, extent)) {
        return Status::size_overflow;
    }
    drop_strides_without_steps(shape, plain);
    layout = {shape, extent};
    return Status::success;
}

Status locate(const void *pointer, Extent extent, std::size_t alignment, MemoryRange &range) {
    if (extent.low == extent.high) {
        range = {0, 0};
        return Status::success;
    }
    if (pointer == nullptr) {
        return Status::null_pointer;
    }
    if (!is_aligned(pointer, alignment)) {
        return Status::misaligned;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    MemoryRange found{};
    if (__builtin_add_overflow(address, extent.low, &found.begin) ||
        __builtin_add_overflow(address, extent.high, &found.end)) {
        return Status::size_overflow;
    }
    range = found;
    return Status::success;
}

Status locate_array(const void *pointer, std::initializer_list<std::size_t> sizes, std::size_t element_bytes,
                    std::size_t alignment, MemoryRange &range) {
    Extent extent{};
    const Status status = extent_of(sizes, element_bytes, extent);
    return status == Status::success ? locate(pointer, extent, alignment, range) : status;
}

Status locate_workspace(const void *workspace, std::size_t bytes, std::size_t needed, MemoryRange &range) {
    if (workspace == nullptr) {
        range = {0, 0};
        return Status::success;
    }
    if (!is_aligned(workspace, workspace_alignment)) {
        return Status::misaligned;
    }
    if (bytes < needed) {
        return Status::workspace_too_small;
    }
    if (bytes > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max())) {
        return Status::size_overflow;
    }
    return locate(workspace, {0, static_cast<std::int64_t>(bytes)}, workspace_alignment, range);
}

Status locate_check(const std::int32_t *check, MemoryRange &range) {
    return locate_array(check, {check == nullptr ? std::size_t{0} : 1}, sizeof *check, alignof(std::int32_t), range);
}

bool any_two_overlap(std::span<const MemoryRange> ranges) {
    for (std::size_t i = 1; i < ranges.size(); ++i) {
        if (overlaps_any(ranges[i], ranges.first(i))) {
            return true;
        }
    }
    return false;
}

bool overlaps_any(MemoryRange range, std::span<const MemoryRange> others) {
    if (range.begin == range.end) { // as most are: of what a call does without
        return false;
    }
    for (const MemoryRange &other : others) {
        if (overlap(range, other)) {
            return true;
        }
    }
    return false;
}

std::size_t whole_workspace(std::size_t bytes) { return divide_up(bytes, workspace_alignment) * workspace_alignment; }

} // namespace wr::capi
