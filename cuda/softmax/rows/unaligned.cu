// Softmax of neighbouring elements at any address.
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template SoftmaxRowKernels softmax_unaligned_kernels<float>(const SoftmaxTwoPassRowKernels &two_pass_rows);
template SoftmaxRowKernels softmax_unaligned_kernels<F16>(const SoftmaxTwoPassRowKernels &two_pass_rows);
template SoftmaxRowKernels softmax_unaligned_kernels<BF16>(const SoftmaxTwoPassRowKernels &two_pass_rows);

} // namespace wr::cuda
