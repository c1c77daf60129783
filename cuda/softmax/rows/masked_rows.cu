// Softmax of rows of whole vectors, of a few base blocks, that lengths, the causal limit or a mask cut.
#define WR_LANE_FROM_REGISTER
#include "cuda/softmax/rows/masked_rows_instance.cuh"

namespace wr::cuda {

template const CutRowsKernels &cut_rows_kernels<float, false, Lie::on_boundaries>();
template const CutRowsKernels &cut_rows_kernels<float, true, Lie::on_boundaries>();
template const CutRowsKernels &cut_rows_kernels<F16, false, Lie::on_boundaries>();
template const CutRowsKernels &cut_rows_kernels<F16, true, Lie::on_boundaries>();
template const CutRowsKernels &cut_rows_kernels<BF16, false, Lie::on_boundaries>();
template const CutRowsKernels &cut_rows_kernels<BF16, true, Lie::on_boundaries>();

} // namespace wr::cuda
