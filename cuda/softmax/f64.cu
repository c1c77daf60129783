// Softmax of f64.
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template void softmax_cta_rows<double>(SoftmaxRowKernels &kernels);
template void softmax_cluster_rows<double>(SoftmaxRowKernels &kernels);
template SoftmaxRowKernels softmax_unaligned_kernels<double>();
template SoftmaxTwoPassRowKernels softmax_two_pass_row_kernels<double>();
template SoftmaxShortRowKernels softmax_short_row_kernels<double>();
template SoftmaxRegisterTileKernels softmax_register_tile_kernels<double>();

} // namespace wr::cuda
