// Softmax of neighbouring elements at any address.
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template SoftmaxRowKernels softmax_unaligned_kernels<float>();
template SoftmaxRowKernels softmax_unaligned_kernels<F16>();
template SoftmaxRowKernels softmax_unaligned_kernels<BF16>();

} // namespace wr::cuda
