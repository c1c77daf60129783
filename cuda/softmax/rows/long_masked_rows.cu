// Softmax of rows of many whole vectors, of which elements may be left out.
#include "cuda/softmax/rows/long_masked_rows.cuh"

namespace wr::cuda {

template const void *long_masked_rows_kernel<float, false, false>();
template const void *long_masked_rows_kernel<F16, false, false>();
template const void *long_masked_rows_kernel<BF16, false, false>();

} // namespace wr::cuda
