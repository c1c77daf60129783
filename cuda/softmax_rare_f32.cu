// Softmax of f32 where elements do not touch each other.
#include "cuda/softmax_rare_instance.cuh"

namespace wr::cuda {

template SoftmaxRareKernels softmax_rare_kernels<float>();

} // namespace wr::cuda
