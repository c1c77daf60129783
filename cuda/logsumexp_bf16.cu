// logsumexp of bf16 rows of whole vectors.
#include "cuda/kernel_address.cuh"
#include "cuda/logsumexp_rows.cuh"

namespace wr::cuda {

const void *logsumexp_rows_kernel_bf16() { return address_of(logsumexp_rows<BF16>); }

} // namespace wr::cuda
