// Makes the set of column clusters' kernels of one element type.
#pragma once

#include "cuda/kernel_address.cuh"
#include "cuda/softmax_column_clusters.cuh"

namespace wr::cuda {

template <class T, int LogAcross, int Warps>
SoftmaxColumnKernel softmax_column_kernel() {
    using Shape = ColumnShape<T, LogAcross, Warps>;
    return {address_of(softmax_column_clusters<T, LogAcross, Warps>),
            Shape::threads,
            Shape::columns,
            Shape::block_rows,
            Shape::base_blocks,
            column_fixed_bytes<T, Shape>,
            column_state_bytes<T, Shape>};
}

template <class T>
const SoftmaxColumnKernels &softmax_column_kernels() {
    if constexpr (sizeof(T) == sizeof(float)) {
        static const SoftmaxColumnKernels kernels{
            {softmax_column_kernel<T, 4, 32>(), softmax_column_kernel<T, 3, 32>(), softmax_column_kernel<T, 2, 32>()}, 3};
        return kernels;
    } else {
        static const SoftmaxColumnKernels kernels{{softmax_column_kernel<T, 3, 32>(), {}, {}}, 1};
        return kernels;
    }
}

} // namespace wr::cuda
