// Where the extremes stand.
#include "cuda/reduce/instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<float, ArgExtreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<F16, ArgExtreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<BF16, ArgExtreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, ArgExtreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<std::uint8_t, ArgExtreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<std::uint16_t, ArgExtreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<std::uint32_t, ArgExtreme<std::int32_t>>();
template const ReduceKernels &reduce_kernels<double, ArgExtreme<std::int64_t>>();
template const ReduceKernels &reduce_kernels<std::uint64_t, ArgExtreme<std::int64_t>>();
template const ReduceKernels &reduce_kernels<KeyAt<std::int32_t>, Partial<ArgExtreme<std::int32_t>>>();
template const ReduceKernels &reduce_kernels<KeyAt<std::int64_t>, Partial<ArgExtreme<std::int64_t>>>();

} // namespace wr::cuda
