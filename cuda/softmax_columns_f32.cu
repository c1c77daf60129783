#include "cuda/softmax_column_instance.cuh"

namespace wr::cuda {

template const SoftmaxColumnKernels &softmax_column_kernels<float>();
template const SoftmaxTallKernels &softmax_tall_kernels<float>();

} // namespace wr::cuda
