// Softmax of 16-bit rows of whole vectors, of a few tiles, that lengths, the causal limit or a mask cut, into
// other types, and from 8 bits. By themselves: where functions are shared, as among those of f32 rows, they lose up to
// a sixth.
#include "cuda/softmax/rows/masked_rows_instance.cuh"

namespace wr::cuda {

template const MaskedRowsKernels &converting_masked_kernels<F16, false>();
template const MaskedRowsKernels &converting_masked_kernels<F16, true>();
template const MaskedRowsKernels &converting_masked_kernels<BF16, false>();
template const MaskedRowsKernels &converting_masked_kernels<BF16, true>();

} // namespace wr::cuda
