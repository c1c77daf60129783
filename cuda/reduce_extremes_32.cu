// Extremes with 32-bit keys.
#include "cuda/reduce_instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<float, Extreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<F16, Extreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<BF16, Extreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<std::int32_t, Extreme<std::int32_t>>();

} // namespace wr::cuda
