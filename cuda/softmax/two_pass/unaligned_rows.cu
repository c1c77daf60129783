// Softmax of long rows off the boundaries.
#include "cuda/softmax/two_pass/unaligned_instance.cuh"

namespace wr::cuda {

template SoftmaxRareKernels softmax_rare_kernels<float>();
template SoftmaxRareKernels softmax_rare_kernels<F16>();
template SoftmaxRareKernels softmax_rare_kernels<BF16>();

} // namespace wr::cuda
