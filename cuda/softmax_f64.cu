// Softmax of f64.
#include "cuda/softmax_instance.cuh"

namespace wr::cuda {

template const SoftmaxKernels &softmax_kernels<double>();

} // namespace wr::cuda
