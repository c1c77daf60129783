// Vectors of neighbouring columns as words: of one column each, or of two 16-bit ones.
#pragma once

#include "cuda/softmax/sub_warp/vectors.cuh"

namespace wr::cuda {

// A vector holds four words: of one column each, or of two 16-bit ones.
inline constexpr int vector_words = 4;

template <class T>
__device__ __forceinline__ unsigned larger_word(unsigned a, unsigned b) {
    if constexpr (sizeof(T) == 2) {
        return larger_pair(a, b, T());
    } else {
        return __float_as_uint(larger_with_nan(__uint_as_float(a), __uint_as_float(b)));
    }
}
template <class T>
__device__ __forceinline__ unsigned smaller_word(unsigned a, unsigned b) {
    if constexpr (sizeof(T) == 2) {
        return smaller_pair(a, b, T());
    } else {
        return __float_as_uint(fminf(__uint_as_float(a), __uint_as_float(b)));
    }
}

// One of a word's columns.
template <class T>
__device__ __forceinline__ float column_of_word(unsigned word, int column) {
    return element_of(uint4{word, 0, 0, 0}, column, T());
}

} // namespace wr::cuda
