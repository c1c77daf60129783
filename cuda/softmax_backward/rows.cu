// The gradient of softmax of rows of neighbouring elements.
#include "cuda/softmax_backward/instance.cuh"

namespace wr::cuda {

template const BackwardVectorKernels &backward_vector_kernels<float>();
template const BackwardVectorKernels &backward_vector_kernels<F16>();
template const BackwardVectorKernels &backward_vector_kernels<BF16>();

} // namespace wr::cuda
