// Softmax of f32 rows of whole vectors, of a few tiles, that lengths, the causal limit or a mask cut, into other
// types.
#include "cuda/softmax/rows/masked_rows_instance.cuh"

namespace wr::cuda {

template const MaskedRowsKernels &converting_masked_kernels<float, false>();
template const MaskedRowsKernels &converting_masked_kernels<float, true>();

} // namespace wr::cuda
