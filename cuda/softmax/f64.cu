// Softmax of f64.
#include "cuda/softmax/instance.cuh"
#include "cuda/softmax/two_pass/unaligned_instance.cuh"

namespace wr::cuda {

template void softmax_block_rows<double>(SoftmaxRowKernels &kernels);
template void softmax_cluster_rows<double>(SoftmaxRowKernels &kernels);
template SoftmaxRowKernels softmax_shifted_kernels<double>(const SoftmaxLongRowKernels &long_rows);
template SoftmaxRareKernels softmax_rare_kernels<double>();
template SoftmaxShortRowKernels softmax_short_row_kernels<double>();
template SoftmaxTileKernels softmax_tile_kernels<double>();

} // namespace wr::cuda
