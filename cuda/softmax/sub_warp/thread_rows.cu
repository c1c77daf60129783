// Softmax of rows so short that one lane holds each.
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template void set_thread_rows<float>(SoftmaxShortRowKernels &kernels);
template void set_thread_rows<F16>(SoftmaxShortRowKernels &kernels);
template void set_thread_rows<BF16>(SoftmaxShortRowKernels &kernels);

} // namespace wr::cuda
