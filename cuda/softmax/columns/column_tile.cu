// Softmax of short columns, and of such of which elements are left out.
#include "cuda/softmax/columns/masked_column_tile.cuh"

namespace wr::cuda {

template const ColumnTileSoftmaxKernels &column_tile_softmax_kernels<float>();
template const ColumnTileSoftmaxKernels &column_tile_softmax_kernels<F16>();
template const ColumnTileSoftmaxKernels &column_tile_softmax_kernels<BF16>();

template void set_masked_column_tiles<float>(ColumnTileSoftmaxKernels::OfAKind &);
template void set_masked_column_tiles<F16>(ColumnTileSoftmaxKernels::OfAKind &);
template void set_masked_column_tiles<BF16>(ColumnTileSoftmaxKernels::OfAKind &);

} // namespace wr::cuda
