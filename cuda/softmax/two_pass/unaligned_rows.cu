// Softmax of long rows off the boundaries.
#include "cuda/softmax/two_pass/unaligned_instance.cuh"

namespace wr::cuda {

template SoftmaxUnalignedTwoPassKernels softmax_unaligned_two_pass_kernels<float>();
template SoftmaxUnalignedTwoPassKernels softmax_unaligned_two_pass_kernels<F16>();
template SoftmaxUnalignedTwoPassKernels softmax_unaligned_two_pass_kernels<BF16>();

} // namespace wr::cuda
