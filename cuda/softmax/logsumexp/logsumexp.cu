// logsumexp of rows.
#define WR_LANE_FROM_REGISTER // f32 needs fewer registers so (1024: 3.95 TB/s, else 3.37)
#include "cuda/softmax/logsumexp/rows.cuh"

namespace wr::cuda {

template const void *logsumexp_rows_kernel<float>(bool);
template const void *logsumexp_rows_kernel<F16>(bool);
template const void *logsumexp_rows_kernel<BF16>(bool);

} // namespace wr::cuda
