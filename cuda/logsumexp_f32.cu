// logsumexp of f32 rows of whole vectors.
#include "cuda/kernel_address.cuh"
#include "cuda/logsumexp_rows.cuh"

namespace wr::cuda {

const void *logsumexp_rows_kernel_f32() { return address_of(logsumexp_rows<float>); }

} // namespace wr::cuda
