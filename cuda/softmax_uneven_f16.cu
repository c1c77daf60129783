// Softmax of f16 rows of many lengths.
#include "cuda/softmax_uneven.cuh"

namespace wr::cuda {

const UnevenSoftmaxKernels &uneven_softmax_kernels_f16() { return uneven_softmax_kernels<F16>(); }

} // namespace wr::cuda
