// The one answer to whether elements are whole vectors on their boundaries. Plain data: host and GPU share it.
#pragma once

#include "cuda/common/vector_types.h"
#include "numerics/element_types.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace wr::cuda {

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

} // namespace wr::cuda
