// The gradient of softmax of bf16 rows of whole vectors.
#include "cuda/softmax_backward_instance.cuh"

namespace wr::cuda {

const BackwardVectorKernels &backward_vector_kernels_bf16() { return backward_vector_kernels<BF16>(); }

} // namespace wr::cuda
