// Softmax of rows of whole vectors, of a few tiles, into other types, and from 8 bits; lengths, the causal limit or a
// mask may cut them.
#include "cuda/softmax/rows/masked_rows_instance.cuh"

namespace wr::cuda {

template const MaskedRowsKernels &converting_masked_kernels<float, false>();
template const MaskedRowsKernels &converting_masked_kernels<float, true>();
template const MaskedRowsKernels &converting_masked_kernels<F16, false>();
template const MaskedRowsKernels &converting_masked_kernels<F16, true>();
template const MaskedRowsKernels &converting_masked_kernels<BF16, false>();
template const MaskedRowsKernels &converting_masked_kernels<BF16, true>();

} // namespace wr::cuda
