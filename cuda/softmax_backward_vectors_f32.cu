// The gradient of softmax of f32 rows of whole vectors.
#include "cuda/softmax_backward_instance.cuh"

namespace wr::cuda {

const BackwardVectorKernels &backward_vector_kernels_f32() { return backward_vector_kernels<float>(); }

} // namespace wr::cuda
