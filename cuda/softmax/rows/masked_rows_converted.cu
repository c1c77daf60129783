// Softmax of f32 rows of whole vectors, of a few base blocks, that lengths, the causal limit or a mask cut, into other
// types.
#include "cuda/softmax/rows/masked_rows_instance.cuh"

namespace wr::cuda {

template const CutRowsKernels &converting_cut_kernels<float, false>();
template const CutRowsKernels &converting_cut_kernels<float, true>();

} // namespace wr::cuda
