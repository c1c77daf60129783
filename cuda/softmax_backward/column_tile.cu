// The gradient of softmax of short columns.
#include "cuda/softmax_backward/column_tile.cuh"

namespace wr::cuda {

template const BackwardShortColumnKernels &backward_short_column_kernels<float>();
template const BackwardShortColumnKernels &backward_short_column_kernels<F16>();
template const BackwardShortColumnKernels &backward_short_column_kernels<BF16>();

} // namespace wr::cuda
