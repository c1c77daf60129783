// Softmax of f32.
#include "cuda/softmax_instance.cuh"

namespace wr::cuda {

template const SoftmaxKernels &softmax_kernels<float>();

} // namespace wr::cuda
