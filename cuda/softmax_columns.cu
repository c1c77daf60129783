// Softmax of columns of whole vectors.
#include "cuda/softmax_column_instance.cuh"

namespace wr::cuda {

template const SoftmaxColumnKernels &softmax_column_kernels<float>();
template const SoftmaxTallKernels &softmax_tall_kernels<float>();
template const SoftmaxColumnKernels &softmax_column_kernels<F16>();
template const SoftmaxTallKernels &softmax_tall_kernels<F16>();
template const SoftmaxColumnKernels &softmax_column_kernels<BF16>();
template const SoftmaxTallKernels &softmax_tall_kernels<BF16>();

} // namespace wr::cuda
