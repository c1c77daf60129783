// Softmax of short columns.
#include "cuda/softmax/columns/column_tile.cuh"

namespace wr::cuda {

template const ColumnTileSoftmaxKernels &column_tile_softmax_kernels<float>();
template const ColumnTileSoftmaxKernels &column_tile_softmax_kernels<F16>();
template const ColumnTileSoftmaxKernels &column_tile_softmax_kernels<BF16>();

} // namespace wr::cuda
