// Softmax of rows of whole vectors, a row in the registers of a cluster, and longer ones.
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template void softmax_cluster_rows<float>(SoftmaxRowKernels &kernels);
template void softmax_cluster_rows<F16>(SoftmaxRowKernels &kernels);
template void softmax_cluster_rows<BF16>(SoftmaxRowKernels &kernels);

} // namespace wr::cuda
