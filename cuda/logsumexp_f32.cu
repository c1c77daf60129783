// logsumexp of f32 rows of whole vectors.
#include "cuda/logsumexp_rows.cuh"

namespace wr::cuda {

const void *logsumexp_rows_kernel_f32() { return reinterpret_cast<const void *>(logsumexp_rows<float>); }

} // namespace wr::cuda
