// The element types that have kernels of whole vectors.
#pragma once

#include "numerics/element_types.h"

namespace wr::cuda {

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

} // namespace wr::cuda
