// The gradient of softmax of columns of f16.
#include "cuda/softmax_backward_columns.cuh"

namespace wr::cuda {

template const BackwardColumnKernels &backward_column_kernels<F16>();

} // namespace wr::cuda
