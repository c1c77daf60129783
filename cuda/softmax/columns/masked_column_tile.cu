// Softmax of short columns of which elements are left out.
#include "cuda/softmax/columns/masked_column_tile.cuh"

namespace wr::cuda {

template void set_masked_column_tiles<float>(ColumnTileSoftmaxKernels::OfAKind &);
template void set_masked_column_tiles<F16>(ColumnTileSoftmaxKernels::OfAKind &);
template void set_masked_column_tiles<BF16>(ColumnTileSoftmaxKernels::OfAKind &);

} // namespace wr::cuda
