// Vectors of 16 bytes: the element types that have kernels of them, where they may be read, and the one answer to
// whether elements are whole ones on their boundaries. Plain data: host and GPU share it.
#pragma once

#include "numerics/element_types.h"
#include "numerics/problem.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace wr::cuda {

// Bytes of a vector, as device code and as launchers count them.
inline constexpr int vector_bytes = 16;
inline constexpr std::size_t bytes_of_vector = vector_bytes;

// Of memory, and of the caches.
inline constexpr unsigned line_bytes = 128;

// Elements of a vector, of these types.
constexpr std::size_t elements_of_vector(ElementType type) { return type == ElementType::f32 ? 4 : 8; }

// What `get`, which gives a pointer for each such type, gives for this one; nullptr for types that have none.
template <class Get>
auto of_vector_type(ElementType type, Get get) -> decltype(get.template operator()<float>()) {
    switch (type) {
    case ElementType::f32:
        return get.template operator()<float>();
    case ElementType::f16:
        return get.template operator()<F16>();
    case ElementType::bf16:
        return get.template operator()<BF16>();
    default:
        return nullptr;
    }
}

// The type whose kernels take elements of this one: F16 holds those of 8 bits exactly, and softmax has one arithmetic
// for both.
constexpr ElementType read_as(ElementType type) {
    return type == ElementType::f8_e4m3 || type == ElementType::f8_e5m2 ? ElementType::f16 : type;
}

// The one answer to whether elements are whole vectors on their boundaries.

// How rows lie in memory: whole 16-byte vectors on their boundaries, beside whole words of mask bytes where there is a
// mask; or elements at any address that their type allows.
enum class Alignment { vector, element };

inline bool is_aligned(const void *at, std::size_t bytes) { return reinterpret_cast<std::uintptr_t>(at) % bytes == 0; }

// Whether what is read or written of so many elements of this type at a time, a vector at most, may start here.
inline bool is_aligned_for(const void *at, std::size_t elements, ElementType type) {
    return is_aligned(at, std::min(bytes_of_vector, elements * traits_of(type).size));
}

constexpr bool are_whole_vectors(std::ptrdiff_t elements, std::size_t vector_elements) {
    return elements % static_cast<std::ptrdiff_t>(vector_elements) == 0;
}

// Whether `size` steps of `stride` elements each keep to the boundaries of vectors of so many elements: a single one
// takes no step.
constexpr bool steps_by_vectors(std::size_t size, std::ptrdiff_t stride, std::size_t vector_elements) {
    return size <= 1 || are_whole_vectors(stride, vector_elements);
}

// The bytes of an array that may be read.

// From the lowest to behind the highest element of the caller's array: vectors are read within them only.
struct ReadableRange {
    const char *begin, *end;
};

inline ReadableRange readable_range_of(const void *array, const Shape &s, std::size_t element_bytes) {
    const char *low = static_cast<const char *>(array), *high = low;
    const auto widen_by = [&](std::size_t size, std::ptrdiff_t stride) {
        const std::ptrdiff_t reach =
            size == 0 ? 0 : static_cast<std::ptrdiff_t>(size - 1) * stride * static_cast<std::ptrdiff_t>(element_bytes);
        (reach < 0 ? low : high) += reach;
    };
    widen_by(s.outer, s.outer_stride);
    widen_by(s.axis, s.axis_stride);
    widen_by(s.inner, s.inner_stride);
    return {low, s.axis == 0 ? low : high + element_bytes};
}

} // namespace wr::cuda
