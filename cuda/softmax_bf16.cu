// Softmax of bf16.
#include "cuda/softmax_instance.cuh"

namespace wr::cuda {

template const SoftmaxKernels &softmax_kernels<BF16>();

} // namespace wr::cuda
