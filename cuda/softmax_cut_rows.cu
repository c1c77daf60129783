// Softmax of 16-bit rows of whole vectors, of a few base blocks, that are cut off.
#define WR_LANE_FROM_REGISTER
#include "cuda/softmax_cut_rows.cuh"

namespace wr::cuda {

template const CutRowsKernels &cut_rows_kernels<F16>();
template const CutRowsKernels &cut_rows_kernels<BF16>();

} // namespace wr::cuda
