// The gradient of softmax of columns.
#include "cuda/softmax_backward/two_pass_columns.cuh"

namespace wr::cuda {

template const BackwardColumnKernels &backward_column_kernels<float>();
template const BackwardColumnKernels &backward_column_kernels<F16>();
template const BackwardColumnKernels &backward_column_kernels<BF16>();

} // namespace wr::cuda
