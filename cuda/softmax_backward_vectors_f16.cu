// The gradient of softmax of f16 rows of whole vectors.
#include "cuda/softmax_backward_instance.cuh"

namespace wr::cuda {

const BackwardVectorKernels &backward_vector_kernels_f16() { return backward_vector_kernels<F16>(); }

} // namespace wr::cuda
