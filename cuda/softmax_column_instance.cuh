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

// The widest tiles that leave a cluster tall enough come first. TB/s on an H200 by tiles of 256, 128 and 64 bytes a
// row: f32 of 1024 3.78, 3.37 and 1.84, bf16 1.96, 2.39 and 1.72, for wider tiles need larger clusters; by blocks of
// half the threads 3.00 and 3.33, 2.25 and 1.65.
template <class T>
const SoftmaxColumnKernels &softmax_column_kernels() {
    if constexpr (sizeof(T) == sizeof(float)) {
        static const SoftmaxColumnKernels kernels{
            {softmax_column_kernel<T, 4, 32>(), softmax_column_kernel<T, 3, 32>(), softmax_column_kernel<T, 2, 32>()},
            3};
        return kernels;
    } else {
        static const SoftmaxColumnKernels kernels{{softmax_column_kernel<T, 3, 32>(), {}, {}}, 1};
        return kernels;
    }
}

} // namespace wr::cuda
