// Softmax of rows of whole vectors, a row in the registers of a block.
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template void softmax_cta_rows<float>(SoftmaxRowKernels &kernels);
template void softmax_cta_rows<F16>(SoftmaxRowKernels &kernels);
template void softmax_cta_rows<BF16>(SoftmaxRowKernels &kernels);

} // namespace wr::cuda
