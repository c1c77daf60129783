// Softmax of f32 rows of many lengths.
#include "cuda/softmax_uneven.cuh"

namespace wr::cuda {

const UnevenSoftmaxKernels &uneven_softmax_kernels_f32() { return uneven_softmax_kernels<float>(); }

} // namespace wr::cuda
