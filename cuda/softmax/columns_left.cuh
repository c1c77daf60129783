// What a kernel has left of columns to those behind it.
#pragma once

#include "cuda/reduce/tile_load.cuh"
#include "cuda/rowwise/published_states.cuh"
#include "cuda/softmax/arguments.h"

namespace wr::cuda {

// Whether a kernel before did all that this one is for.
__device__ __forceinline__ bool is_nothing_left(const ColumnsLeft &left) {
    return left.any != nullptr && *left.any == absent_word;
}

// Whether the vector of columns that holds this one is this kernel's to do.
__device__ __forceinline__ bool is_left(const ColumnsLeft &left, std::size_t outer, std::size_t inner) {
    if (left.any == nullptr) {
        return true;
    }
    constexpr std::size_t each = vector_elements<float>;
    const std::uint64_t word = left.factors[outer * left.columns + inner / each * each];
    return is_nan(__uint_as_float(static_cast<unsigned>(word >> 32)));
}

} // namespace wr::cuda
