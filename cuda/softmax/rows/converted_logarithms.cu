// Log-softmax of rows of whole vectors into other types: by itself, without the functions that others share, which cost
// it up to a fifth.
#include "cuda/softmax/rows/converted_instance.cuh"

namespace wr::cuda {

template void softmax_converted_logarithms<float>(SoftmaxConvertedKernels &kernels);
template void softmax_converted_logarithms<F16>(SoftmaxConvertedKernels &kernels);
template void softmax_converted_logarithms<BF16>(SoftmaxConvertedKernels &kernels);

} // namespace wr::cuda
