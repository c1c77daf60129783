// logsumexp of rows.
#include "cuda/logsumexp_rows.cuh"

namespace wr::cuda {

template const void *logsumexp_aligned_rows_kernel<float>();
template const void *logsumexp_aligned_rows_kernel<F16>();
template const void *logsumexp_aligned_rows_kernel<BF16>();

template const void *logsumexp_shifted_rows_kernel<float>();
template const void *logsumexp_shifted_rows_kernel<F16>();
template const void *logsumexp_shifted_rows_kernel<BF16>();

} // namespace wr::cuda
