// Softmax of short rows, and of columns in the registers of a block or a cluster.
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template SoftmaxShortRowKernels softmax_short_row_kernels<float>();
template SoftmaxRegisterTileKernels softmax_register_tile_kernels<float>();
template SoftmaxShortRowKernels softmax_short_row_kernels<F16>();
template SoftmaxRegisterTileKernels softmax_register_tile_kernels<F16>();
template SoftmaxShortRowKernels softmax_short_row_kernels<BF16>();
template SoftmaxRegisterTileKernels softmax_register_tile_kernels<BF16>();

} // namespace wr::cuda
