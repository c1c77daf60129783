// Softmax of neighbouring elements at any address into other types, and of rows of them that are read twice.
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template SoftmaxRowKernels softmax_unaligned_converted_kernels<float>(const SoftmaxTwoPassRowKernels &two_pass_rows);
template SoftmaxRowKernels softmax_unaligned_converted_kernels<F16>(const SoftmaxTwoPassRowKernels &two_pass_rows);
template SoftmaxRowKernels softmax_unaligned_converted_kernels<BF16>(const SoftmaxTwoPassRowKernels &two_pass_rows);

template SoftmaxUnalignedTwoPassKernels softmax_unaligned_two_pass_kernels<float>();
template SoftmaxUnalignedTwoPassKernels softmax_unaligned_two_pass_kernels<F16>();
template SoftmaxUnalignedTwoPassKernels softmax_unaligned_two_pass_kernels<BF16>();

} // namespace wr::cuda
