// Makes the softmax kernels of one element type that are slow whatever is done: of long rows off the boundaries, which
// are read twice, and of columns that no tile serves. They are compiled by themselves, so as to share the functions
// that they call.
#pragma once

#include "cuda/softmax_columns.cuh"
#include "cuda/softmax_row_instance.cuh"

namespace wr::cuda {

template <class T>
SoftmaxRareKernels softmax_rare_kernels() {
    return {softmax_long_row_kernels<T, ShiftedPlaces<T>>(), address_of(softmax_totals<T>),
            address_of(softmax_column_states<T>), address_of(softmax_column_apply<T>)};
}

} // namespace wr::cuda
