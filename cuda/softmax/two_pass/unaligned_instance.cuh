// Makes the softmax kernels of one element type that are slow whatever is done: of long rows off the boundaries, which
// are read twice. They are compiled by themselves, so as to share the functions that they call.
#pragma once

#include "cuda/softmax/rows/instance.cuh"
#include "cuda/softmax/two_pass/rows.cuh"

namespace wr::cuda {

template <class T>
SoftmaxUnalignedTwoPassKernels softmax_unaligned_two_pass_kernels() {
    return {softmax_two_pass_row_kernels<T, UnalignedLoad<T>>(), address_of(softmax_totals<T>)};
}

} // namespace wr::cuda
