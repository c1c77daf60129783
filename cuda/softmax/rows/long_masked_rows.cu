// Softmax of rows of many whole vectors, of which elements may be left out.
#include "cuda/softmax/rows/long_masked_rows.cuh"

namespace wr::cuda {

template const void *selected_softmax_kernel<float, false, false>();
template const void *selected_softmax_kernel<F16, false, false>();
template const void *selected_softmax_kernel<BF16, false, false>();

} // namespace wr::cuda
