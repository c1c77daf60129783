#include "cuda/softmax_column_instance.cuh"

namespace wr::cuda {

template const SoftmaxColumnKernels &softmax_column_kernels<F16>();
template const SoftmaxTallKernels &softmax_tall_kernels<F16>();

} // namespace wr::cuda
