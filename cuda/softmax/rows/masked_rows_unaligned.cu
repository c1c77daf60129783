// Softmax of rows anywhere in memory, of a few base blocks, that lengths, the causal limit or a mask cut.
#include "cuda/softmax/rows/masked_rows_instance.cuh"

namespace wr::cuda {

template const CutRowsKernels &cut_rows_kernels<float, false, Lie::anywhere>();
template const CutRowsKernels &cut_rows_kernels<float, true, Lie::anywhere>();
template const CutRowsKernels &cut_rows_kernels<F16, false, Lie::anywhere>();
template const CutRowsKernels &cut_rows_kernels<F16, true, Lie::anywhere>();
template const CutRowsKernels &cut_rows_kernels<BF16, false, Lie::anywhere>();
template const CutRowsKernels &cut_rows_kernels<BF16, true, Lie::anywhere>();

} // namespace wr::cuda
