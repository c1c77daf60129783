// Softmax of f16.
#include "cuda/softmax_instance.cuh"

namespace wr::cuda {

template const SoftmaxKernels &softmax_kernels<F16>();

} // namespace wr::cuda
