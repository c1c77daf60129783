// Softmax of f64.
#include "cuda/softmax_instance.cuh"
#include "cuda/softmax_rare_instance.cuh"

namespace wr::cuda {

template SoftmaxRareKernels softmax_rare_kernels<double>();
template const SoftmaxKernels &softmax_kernels<double>();

} // namespace wr::cuda
