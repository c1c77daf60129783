// Softmax of rows so short that one lane holds each.
#define WR_LANE_FROM_REGISTER
#include "cuda/softmax/instance.cuh"

namespace wr::cuda {

template void softmax_rows_of_lanes<float>(SoftmaxShortRowKernels &kernels);
template void softmax_rows_of_lanes<F16>(SoftmaxShortRowKernels &kernels);
template void softmax_rows_of_lanes<BF16>(SoftmaxShortRowKernels &kernels);

} // namespace wr::cuda
