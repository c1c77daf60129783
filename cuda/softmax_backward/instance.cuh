// Makes the set of kernels for the gradient of rows of neighbouring elements of one type.
#pragma once

#include "cuda/common/kernel_address.cuh"
#include "cuda/softmax_backward/persistent_cluster.cuh"
#include "cuda/softmax_backward/rows.cuh"

namespace wr::cuda {

template <class T, bool FromLogits>
const void *widest_backward_vectors() {
    if constexpr (sizeof(T) == 2) {
        return address_of(backward_vectors<T, 32, FromLogits>);
    }
    return nullptr;
}

template <class T>
const BackwardVectorKernels &backward_vector_kernels() {
    constexpr int warps_anywhere = sizeof(T) == 2 ? 16 : 8; // f32 has registers for two blocks of 8
    static const BackwardVectorKernels kernels{
        {{address_of(backward_vectors<T, 8, false>), address_of(backward_vectors<T, 16, false>),
          widest_backward_vectors<T, false>()},
         {address_of(backward_vectors<T, 8, true>), address_of(backward_vectors<T, 16, true>),
          widest_backward_vectors<T, true>()}},
        {address_of(backward_persistent<T, false>), address_of(backward_persistent<T, true>)},
        {address_of(backward_vectors<T, warps_anywhere, false, Alignment::element>),
         address_of(backward_vectors<T, warps_anywhere, true, Alignment::element>)},
        static_cast<std::size_t>(warps_anywhere),
        static_cast<int>(sizeof(T))};
    return kernels;
}

} // namespace wr::cuda
