// Softmax of ragged rows, into their own type and into others: near copies, which compress together.
#include "cuda/softmax/ragged/rows.cuh"

namespace wr::cuda {

template const RaggedSoftmaxKernels &ragged_softmax_kernels<float>();
template const RaggedSoftmaxKernels &ragged_softmax_kernels<F16>();
template const RaggedSoftmaxKernels &ragged_softmax_kernels<BF16>();

template const RaggedSoftmaxKernels &converting_ragged_kernels<float>();
template const RaggedSoftmaxKernels &converting_ragged_kernels<F16>();
template const RaggedSoftmaxKernels &converting_ragged_kernels<BF16>();

} // namespace wr::cuda
