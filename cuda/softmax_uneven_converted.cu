// Softmax of rows of many lengths into other types.
#include "cuda/softmax_uneven.cuh"

namespace wr::cuda {

template const UnevenSoftmaxKernels &converting_uneven_kernels<float>();
template const UnevenSoftmaxKernels &converting_uneven_kernels<F16>();
template const UnevenSoftmaxKernels &converting_uneven_kernels<BF16>();

} // namespace wr::cuda
