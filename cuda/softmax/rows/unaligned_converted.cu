// Softmax of neighbouring elements at any address into other types.
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template SoftmaxRowKernels softmax_shifted_converted_kernels<float>(const SoftmaxLongRowKernels &long_rows);
template SoftmaxRowKernels softmax_shifted_converted_kernels<F16>(const SoftmaxLongRowKernels &long_rows);
template SoftmaxRowKernels softmax_shifted_converted_kernels<BF16>(const SoftmaxLongRowKernels &long_rows);

} // namespace wr::cuda
