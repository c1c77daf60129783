// The bytes that strides reach, compared with the addresses of all elements one by one, and the largest sizes, compared
// with arithmetic in 128 bits.
#include "capi/checks.h"
#include "check.h"

#include <algorithm>
#include <limits>
#include <random>

using wr::Shape;
using wr::Status;
using wr::capi::Extent;
using wr::capi::Layout;
using wr::capi::MemoryRange;

namespace {

__extension__ using Wide = __int128;

constexpr std::ptrdiff_t ptrdiff_max = std::numeric_limits<std::ptrdiff_t>::max();
constexpr std::ptrdiff_t ptrdiff_min = std::numeric_limits<std::ptrdiff_t>::min();

Extent extent_of_all_elements(const Shape &s, std::int64_t element_bytes) {
    Extent extent{0, 0};
    for (std::size_t i = 0; i < s.outer * s.axis * s.inner; ++i) {
        const auto outer = static_cast<std::ptrdiff_t>(i / s.inner / s.axis);
        const auto axis = static_cast<std::ptrdiff_t>(i / s.inner % s.axis);
        const auto inner = static_cast<std::ptrdiff_t>(i % s.inner);
        const std::int64_t low =
            (outer * s.outer_stride + axis * s.axis_stride + inner * s.inner_stride) * element_bytes;
        extent.low = std::min(extent.low, low);
        extent.high = std::max(extent.high, low + element_bytes);
    }
    return extent;
}

void check_small_arrays(std::mt19937_64 &random) {
    const auto between = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    const auto size = [&] { return static_cast<std::size_t>(between(0, 5)); };
    for (int round = 0; round < 20000; ++round) {
        const Shape given{size(), size(), size(), between(-40, 40), between(-9, 9), between(-3, 3)};
        const auto element_bytes = std::size_t{1} << between(0, 3);
        Layout layout{};
        CHECK(layout_of(given, true, element_bytes, layout) == Status::success, "a small array");
        const Shape &s = layout.shape;
        const Extent expected = extent_of_all_elements(s, static_cast<std::int64_t>(element_bytes));
        CHECK(layout.extent.low == expected.low && layout.extent.high == expected.high,
              "[%zu][%zu][%zu], strides %td, %td, %td", s.outer, s.axis, s.inner, s.outer_stride, s.axis_stride,
              s.inner_stride);
    }
}

// Sizes of at most 25 bits and strides of at most 62: nothing here needs more than 128.
bool fits(const Shape &s, std::size_t element_bytes) {
    const auto bytes = static_cast<Wide>(element_bytes);
    Wide low = 0, high = bytes;
    const auto widen_by = [&](std::size_t size, std::ptrdiff_t stride) {
        const Wide reach = Wide(size - 1) * stride * bytes;
        (reach < 0 ? low : high) += reach;
    };
    widen_by(s.outer, s.outer_stride);
    widen_by(s.axis, s.axis_stride);
    widen_by(s.inner, s.inner_stride);
    return Wide(s.outer) * Wide(s.axis) * Wide(s.inner) * bytes <= ptrdiff_max && high <= ptrdiff_max &&
           low >= ptrdiff_min && high - low <= ptrdiff_max;
}

void check_large_arrays(std::mt19937_64 &random) {
    const auto power = [&](int most) {
        const int bits = std::uniform_int_distribution<int>(0, most)(random);
        return (std::size_t{1} << bits) + random() % 3;
    };
    const auto stride = [&] {
        const auto magnitude = static_cast<std::ptrdiff_t>(power(61));
        return random() % 2 == 0 ? magnitude : -magnitude;
    };
    int fitting = 0;
    for (int round = 0; round < 200000; ++round) {
        const Shape given{power(24), power(24), power(24), stride(), stride(), stride()};
        const auto element_bytes = std::size_t{1} << random() % 5;
        const bool expected = fits(given, element_bytes);
        fitting += expected;
        Layout layout{};
        const Status status = layout_of(given, true, element_bytes, layout);
        CHECK(status == (expected ? Status::success : Status::size_overflow),
              "[%zu][%zu][%zu], strides %td, %td, %td, %zu bytes", given.outer, given.axis, given.inner,
              given.outer_stride, given.axis_stride, given.inner_stride, element_bytes);
    }
    CHECK(fitting > 1000 && fitting < 199000, "%d of the arrays fit: no test of the others, or of these", fitting);
}

void check_ends_of_the_range() {
    Extent extent{};
    Layout layout{};
    const auto largest = static_cast<std::size_t>(ptrdiff_max);
    CHECK(wr::capi::extent_of({largest}, 1, extent) == Status::success && extent.high == ptrdiff_max, "2^63 - 1 bytes");
    CHECK(wr::capi::extent_of({largest + 1}, 1, extent) == Status::size_overflow, "2^63 bytes");
    CHECK(extent.high == ptrdiff_max, "a refused extent was written");
    CHECK(wr::capi::extent_of({SIZE_MAX, SIZE_MAX, 0}, 16, extent) == Status::success && extent.high == 0,
          "nothing, however often");
    CHECK(layout_of({0, SIZE_MAX, SIZE_MAX, ptrdiff_max, ptrdiff_min, ptrdiff_min}, true, 8, layout) == Status::success,
          "strides between no elements");
    CHECK(layout_of({2, 1, 1, ptrdiff_max - 1, 0, 0}, true, 1, layout) == Status::success, "the last byte at 2^63 - 2");
    CHECK(layout.extent.high == ptrdiff_max, "2^63 - 1 bytes by a stride");
    CHECK(layout_of({2, 1, 1, ptrdiff_max, 0, 0}, true, 1, layout) == Status::size_overflow,
          "the last byte at 2^63 - 1");
    CHECK(layout_of({2, 1, 1, ptrdiff_min, 0, 0}, true, 1, layout) == Status::size_overflow, "2^63 bytes down");
    CHECK(layout_of({1, 1, 1, ptrdiff_min, ptrdiff_min, ptrdiff_min}, true, 8, layout) == Status::success,
          "one element");
    CHECK(is_contiguous(layout.shape), "strides along which no step is made mean nothing");
}

void check_places_in_memory() {
    alignas(16) static unsigned char memory[64];
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    MemoryRange range{1, 1};
    CHECK(locate(memory, {-8, 24}, 8, range) == Status::success, "an array around its pointer");
    CHECK(range.begin == address - 8 && range.end == address + 24, "its place");
    CHECK(locate(nullptr, {0, 0}, 8, range) == Status::success && range.begin == range.end, "no elements, no pointer");
    CHECK(locate(memory + 1, {0, 0}, 8, range) == Status::success, "no elements, no alignment");
    CHECK(locate(nullptr, {0, 8}, 8, range) == Status::null_pointer, "NULL");
    CHECK(locate(memory + 4, {0, 8}, 8, range) == Status::misaligned, "a pointer between two elements");
    CHECK(locate(memory, {ptrdiff_min, 8}, 8, range) == Status::size_overflow, "below address zero");
    CHECK(wr::capi::whole_workspace(0) == 0 && wr::capi::whole_workspace(1) == 16 &&
              wr::capi::whole_workspace(16) == 16 && wr::capi::whole_workspace(17) == 32,
          "whole workspaces");
}

bool share_a_byte(const MemoryRange &a, const MemoryRange &b) {
    for (std::uintptr_t byte = a.begin; byte < a.end; ++byte) {
        if (byte >= b.begin && byte < b.end) {
            return true;
        }
    }
    return false;
}

void check_overlaps() {
    constexpr std::uintptr_t ends = 6;
    for (std::uintptr_t a = 0; a <= ends; ++a) {
        for (std::uintptr_t b = a; b <= ends; ++b) {
            for (std::uintptr_t c = 0; c <= ends; ++c) {
                for (std::uintptr_t d = c; d <= ends; ++d) {
                    const MemoryRange left{a, b}, right{c, d}, apart{100, 101};
                    const bool expected = share_a_byte(left, right);
                    const MemoryRange two[] = {left, right}, among_others[] = {apart, left, MemoryRange{}, right};
                    CHECK(wr::capi::any_two_overlap(two) == expected, "[%zu, %zu) and [%zu, %zu)", a, b, c, d);
                    CHECK(wr::capi::any_two_overlap(among_others) == expected, "among others");
                    const MemoryRange others[] = {apart, MemoryRange{}, right};
                    CHECK(wr::capi::overlaps_any(left, others) == expected, "one of others");
                }
            }
        }
    }
}

} // namespace

int main() {
    std::mt19937_64 random(20240607);
    check_small_arrays(random);
    check_large_arrays(random);
    check_ends_of_the_range();
    check_places_in_memory();
    check_overlaps();
    return check_report("extents_are_exact");
}
