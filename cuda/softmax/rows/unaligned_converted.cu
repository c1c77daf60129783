// Softmax of neighbouring elements at any address into other types, and of rows of them that are read twice.
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template SoftmaxRowKernels softmax_unaligned_converted_kernels<float>();
template SoftmaxRowKernels softmax_unaligned_converted_kernels<F16>();
template SoftmaxRowKernels softmax_unaligned_converted_kernels<BF16>();

template SoftmaxTwoPassRowKernels softmax_two_pass_row_kernels<float>();
template SoftmaxTwoPassRowKernels softmax_two_pass_row_kernels<F16>();
template SoftmaxTwoPassRowKernels softmax_two_pass_row_kernels<BF16>();

} // namespace wr::cuda
