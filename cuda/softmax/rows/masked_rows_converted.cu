// Softmax of rows of whole vectors, of a few tiles, into other types, and from 8 bits; lengths, the causal limit or a
// mask may cut them.
#include "cuda/softmax/rows/masked_rows.cuh"

namespace wr::cuda {

template const MaskedRowsKernels &converting_masked_kernels<float>();
template const MaskedRowsKernels &converting_masked_kernels<F16>();
template const MaskedRowsKernels &converting_masked_kernels<BF16>();

} // namespace wr::cuda
