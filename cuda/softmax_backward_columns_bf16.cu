// The gradient of softmax of columns of bf16.
#include "cuda/softmax_backward_columns.cuh"

namespace wr::cuda {

template const BackwardColumnKernels &backward_column_kernels<BF16>();

} // namespace wr::cuda
