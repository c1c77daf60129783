// Softmax of neighbouring elements at any address into other types.
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template SoftmaxRowKernels softmax_unaligned_converted_kernels<float>(const SoftmaxTwoPassRowKernels &two_pass_rows);
template SoftmaxRowKernels softmax_unaligned_converted_kernels<F16>(const SoftmaxTwoPassRowKernels &two_pass_rows);
template SoftmaxRowKernels softmax_unaligned_converted_kernels<BF16>(const SoftmaxTwoPassRowKernels &two_pass_rows);

} // namespace wr::cuda
