#include "cuda/softmax_column_instance.cuh"

namespace wr::cuda {

template const SoftmaxColumnKernels &softmax_column_kernels<BF16>();
template const SoftmaxTallKernels &softmax_tall_kernels<BF16>();

} // namespace wr::cuda
