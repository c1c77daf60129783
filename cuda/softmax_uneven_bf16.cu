// Softmax of bf16 rows of many lengths.
#include "cuda/softmax_uneven.cuh"

namespace wr::cuda {

const UnevenSoftmaxKernels &uneven_softmax_kernels_bf16() { return uneven_softmax_kernels<BF16>(); }

} // namespace wr::cuda
