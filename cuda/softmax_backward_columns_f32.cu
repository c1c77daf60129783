// The gradient of softmax of columns of f32.
#include "cuda/softmax_backward_columns.cuh"

namespace wr::cuda {

template const BackwardColumnKernels &backward_column_kernels<float>();

} // namespace wr::cuda
