// Minima and maxima.
#include "cuda/reduce/instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<float, Extreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<F16, Extreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<BF16, Extreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, Extreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<std::uint8_t, Extreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<std::uint16_t, Extreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<std::uint32_t, Extreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<double, Extreme<std::int64_t>>();
template const ReduceKernels &reduce_kernels<std::uint64_t, Extreme<std::int64_t>>();

} // namespace wr::cuda
