// Log-softmax of such rows, and softmax of them into other types and from 8 bits: near copies, which compress together
// and share the functions that they call.
#include "cuda/softmax/rows/long_masked_rows.cuh"

namespace wr::cuda {

template const void *long_masked_rows_kernel<float, true, false>();
template const void *long_masked_rows_kernel<F16, true, false>();
template const void *long_masked_rows_kernel<BF16, true, false>();
template const void *long_masked_rows_kernel<float, false, true>();
template const void *long_masked_rows_kernel<F16, false, true>();
template const void *long_masked_rows_kernel<BF16, false, true>();
template const void *long_masked_rows_kernel<float, true, true>();
template const void *long_masked_rows_kernel<F16, true, true>();
template const void *long_masked_rows_kernel<BF16, true, true>();

} // namespace wr::cuda
