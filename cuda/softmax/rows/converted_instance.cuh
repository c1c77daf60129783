// Makes the softmax kernels for rows of vectors of one element type whose outputs are of another. They are compiled by
// themselves, beside the others, and those of log-softmax, which lose a fifth where functions are shared, beside these.
#pragma once

#include "cuda/softmax/rows/instance.cuh"
#include "cuda/softmax/sub_warp/vector_rows.cuh"

namespace wr::cuda {

template <class T>
SoftmaxConvertedKernels softmax_converted_kernels(const void *split_states) {
    using Load = ConvertingLoad<T>;
    return {softmax_row_kernels<T, Load>(
                {split_states, {address_of(softmax_apply<T, Load, false>), address_of(softmax_apply<T, Load, true>)}}),
            {address_of(softmax_sub_warp_vectors<T, false, VectorRows::converted>)}};
}

template <class T>
void softmax_converted_logarithms(SoftmaxConvertedKernels &kernels) {
    using Load = ConvertingLoad<T>;
    add_rows_of_blocks<T, Load, true>(kernels.rows);
    set_cluster_kernels<T, Load, true>(kernels.rows.clusters[1]);
    kernels.packed[1] = address_of(softmax_sub_warp_vectors<T, true, VectorRows::converted>);
}

} // namespace wr::cuda
