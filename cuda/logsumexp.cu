// logsumexp of rows of whole vectors.
#include "cuda/logsumexp_rows.cuh"

namespace wr::cuda {

template const void *logsumexp_rows_kernel<float>();
template const void *logsumexp_rows_kernel<F16>();
template const void *logsumexp_rows_kernel<BF16>();

} // namespace wr::cuda
