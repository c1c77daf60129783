// Softmax of rows anywhere in memory, of a few tiles, that lengths, the causal limit or a mask cut.
#include "cuda/softmax/rows/masked_rows.cuh"

namespace wr::cuda {

template const MaskedRowsKernels &masked_rows_kernels<float, Alignment::element>();
template const MaskedRowsKernels &masked_rows_kernels<F16, Alignment::element>();
template const MaskedRowsKernels &masked_rows_kernels<BF16, Alignment::element>();

} // namespace wr::cuda
