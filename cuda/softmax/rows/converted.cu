// Softmax of rows of whole vectors into other types: short ones, and long ones.
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template SoftmaxConvertedKernels softmax_converted_kernels<float>(const void *split_states);
template SoftmaxConvertedKernels softmax_converted_kernels<F16>(const void *split_states);
template SoftmaxConvertedKernels softmax_converted_kernels<BF16>(const void *split_states);

} // namespace wr::cuda
