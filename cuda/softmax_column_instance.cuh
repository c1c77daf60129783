// Makes the set of column clusters' kernels of one element type.
#pragma once

#include "cuda/kernel_address.cuh"
#include "cuda/softmax_column_clusters.cuh"
#include "cuda/tuning.h"

namespace wr::cuda {

template <class T, int LogAcross, int Warps, int Halves = 1>
SoftmaxColumnKernel softmax_column_kernel(std::size_t most_blocks) {
    using Shape = ColumnShape<T, LogAcross, Warps, Halves>;
    return {address_of(softmax_column_clusters<T, LogAcross, Warps, Halves>),
            Shape::threads,
            Shape::columns,
            Shape::block_rows * Shape::halves,
            Shape::parts,
            column_fixed_bytes<T, Shape>,
            column_state_bytes<T, Shape>,
            most_blocks};
}

// The widest tiles come first whose clusters are not larger than those that a GPU holds many of. TB/s on an H200 by
// tiles of 256 and 128 bytes a row and by two of 128 below each other in a block: f32 of 1024 3.86; of 4096 3.42, 3.21
// and 2.56; of 8192 2.88, 3.14 and 2.40; of 16384 2.97 by 128 bytes and 2.32; of 32768 2.15 by the last. bf16 of 1024
// before other changes 1.96 and, by 128 bytes, 2.39.
template <class T>
const SoftmaxColumnKernels &softmax_column_kernels() {
    constexpr std::size_t few = tuning::cluster_blocks, many = tuning::softmax_wide_cluster_blocks;
    if constexpr (sizeof(T) == sizeof(float)) {
        static const SoftmaxColumnKernels kernels{{softmax_column_kernel<T, 4, 32>(few),
                                                   softmax_column_kernel<T, 3, 32>(many),
                                                   softmax_column_kernel<T, 3, 32, 2>(many)},
                                                  3};
        return kernels;
    } else {
        static const SoftmaxColumnKernels kernels{{softmax_column_kernel<T, 3, 32>(many), {}, {}}, 1};
        return kernels;
    }
}

} // namespace wr::cuda
