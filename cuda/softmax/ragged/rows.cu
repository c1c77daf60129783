// Softmax of ragged rows, into their own type and into others: near copies, which compress together.
#include "cuda/softmax/ragged/rows.cuh"

namespace wr::cuda {

template const UnevenSoftmaxKernels &uneven_softmax_kernels<float>();
template const UnevenSoftmaxKernels &uneven_softmax_kernels<F16>();
template const UnevenSoftmaxKernels &uneven_softmax_kernels<BF16>();

template const UnevenSoftmaxKernels &converting_uneven_kernels<float>();
template const UnevenSoftmaxKernels &converting_uneven_kernels<F16>();
template const UnevenSoftmaxKernels &converting_uneven_kernels<BF16>();

} // namespace wr::cuda
