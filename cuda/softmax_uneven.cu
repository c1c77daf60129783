// Softmax of rows of many lengths.
#include "cuda/softmax_uneven.cuh"

namespace wr::cuda {

template const UnevenSoftmaxKernels &uneven_softmax_kernels<float>();
template const UnevenSoftmaxKernels &uneven_softmax_kernels<F16>();
template const UnevenSoftmaxKernels &uneven_softmax_kernels<BF16>();

} // namespace wr::cuda
