// Makes the softmax kernels for rows of vectors of one element type whose outputs are of another. They are compiled by
// themselves, beside the others, and those of log-softmax, which lose a fifth where functions are shared, beside these.
#pragma once

#include "cuda/softmax/rows/instance.cuh"
#include "cuda/softmax/sub_warp/vector_rows.cuh"

namespace wr::cuda {

template <class T>
SoftmaxConvertedKernels softmax_converted_kernels(const void *piece_states) {
    using Places = ConvertedPlaces<T>;
    return {
        softmax_row_kernels<T, Places>(
            {piece_states, {address_of(softmax_apply<T, Places, false>), address_of(softmax_apply<T, Places, true>)}}),
        {address_of(softmax_packed_rows<T, false, PackedRows::converted>)}};
}

template <class T>
void softmax_converted_logarithms(SoftmaxConvertedKernels &kernels) {
    using Places = ConvertedPlaces<T>;
    add_rows_of_blocks<T, Places, true>(kernels.rows);
    set_cluster_kernels<T, Places, true>(kernels.rows.clusters[1]);
    kernels.packed[1] = address_of(softmax_packed_rows<T, true, PackedRows::converted>);
}

} // namespace wr::cuda
