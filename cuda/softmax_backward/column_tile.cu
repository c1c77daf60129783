// The gradient of softmax of short columns.
#include "cuda/softmax_backward/column_tile.cuh"

namespace wr::cuda {

template const BackwardColumnTileKernels &backward_column_tile_kernels<float>();
template const BackwardColumnTileKernels &backward_column_tile_kernels<F16>();
template const BackwardColumnTileKernels &backward_column_tile_kernels<BF16>();

} // namespace wr::cuda
