// Softmax of rows of whole vectors into other types: short ones, and those of more than 32 tiles.
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template SoftmaxConvertedKernels softmax_converted_kernels<float>();
template SoftmaxConvertedKernels softmax_converted_kernels<F16>();
template SoftmaxConvertedKernels softmax_converted_kernels<BF16>();

} // namespace wr::cuda
