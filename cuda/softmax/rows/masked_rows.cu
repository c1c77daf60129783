// Softmax of rows of whole vectors, of a few tiles, that lengths, the causal limit or a mask cut.
#include "cuda/softmax/rows/masked_rows_instance.cuh"

namespace wr::cuda {

template const MaskedRowsKernels &masked_rows_kernels<float, false, Alignment::vector>();
template const MaskedRowsKernels &masked_rows_kernels<float, true, Alignment::vector>();
template const MaskedRowsKernels &masked_rows_kernels<F16, false, Alignment::vector>();
template const MaskedRowsKernels &masked_rows_kernels<F16, true, Alignment::vector>();
template const MaskedRowsKernels &masked_rows_kernels<BF16, false, Alignment::vector>();
template const MaskedRowsKernels &masked_rows_kernels<BF16, true, Alignment::vector>();

} // namespace wr::cuda
