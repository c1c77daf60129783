// Makes the kernels of columns of whole vectors of one element type.
#pragma once

#include "cuda/common/kernel_address.cuh"
#include "cuda/common/tuning.h"
#include "cuda/rowwise/cluster_sizes.h"
#include "cuda/softmax/columns/clusters.cuh"
#include "cuda/softmax/two_pass/columns.cuh"

namespace wr::cuda {

template <class T, int LogAcross, int Warps>
SoftmaxColumnKernel softmax_column_kernel(std::size_t most_blocks) {
    using Shape = ColumnShape<T, LogAcross, Warps>;
    return {address_of(softmax_column_clusters<T, LogAcross, Warps>),
            Shape::threads,
            Shape::columns,
            Shape::block_rows,
            Shape::tile_count,
            column_fixed_bytes<T, Shape>,
            column_state_bytes<T, Shape>,
            most_blocks};
}

// The widest tiles come first whose clusters are not larger than those that a GPU holds many of. TB/s on an H200 by
// tiles of 256 and 128 bytes a row and by the kernels that read twice: f32 of 1024 3.86 by the first, 2.57 by the last;
// of 4096 3.42, 3.21 and 2.55; of 8192 2.88, 3.20 and 2.55; of 16384 2.98 by 128 bytes and 2.53; bf16 of 1024, 4096 and
// 8192 by 128 bytes 2.49, 2.09 and 1.74, by the last 2.25, 2.13 and 2.21.
template <class T>
const SoftmaxColumnKernels &softmax_column_kernels() {
    constexpr std::size_t few = tuning::cluster_blocks, many = softmax_wide_cluster_blocks;
    if constexpr (sizeof(T) == sizeof(float)) {
        static const SoftmaxColumnKernels kernels{
            {softmax_column_kernel<T, 4, 32>(few), softmax_column_kernel<T, 3, 32>(many)}, 2};
        return kernels;
    } else {
        static const SoftmaxColumnKernels kernels{{softmax_column_kernel<T, 3, 32>(few), {}}, 1};
        return kernels;
    }
}

template <class T>
const SoftmaxTwoPassColumnKernels &softmax_two_pass_column_kernels() {
    static const SoftmaxTwoPassColumnKernels kernels{
        address_of(softmax_two_pass_column_states<T>),
        {address_of(softmax_two_pass_column_outputs<T, false>), address_of(softmax_two_pass_column_outputs<T, true>)}};
    return kernels;
}

} // namespace wr::cuda
