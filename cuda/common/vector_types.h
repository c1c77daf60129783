// The element types that have kernels of whole vectors.
#pragma once

#include "numerics/element_types.h"

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

} // namespace wr::cuda
