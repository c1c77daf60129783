// Softmax and log-softmax of rows spread over lanes.
#include "cuda/softmax/rows/spread_rows.cuh"

namespace wr::cuda {

template const SpreadRowsKernels &spread_rows_kernels<float>();
template const SpreadRowsKernels &spread_rows_kernels<F16>();
template const SpreadRowsKernels &spread_rows_kernels<BF16>();

} // namespace wr::cuda
