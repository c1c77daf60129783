// Products of integers, sums of their magnitudes and squares, and sums with weights.
#include "cuda/reduce/instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<std::uint8_t, IntegerProduct>();
template const ReduceKernels &reduce_kernels<std::uint16_t, IntegerProduct>();
template const ReduceKernels &reduce_kernels<std::uint32_t, IntegerProduct>();
template const ReduceKernels &reduce_kernels<std::uint64_t, IntegerProduct>();
template const ReduceKernels &reduce_kernels<std::uint8_t, MappedIntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint16_t, MappedIntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint32_t, MappedIntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint64_t, MappedIntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint8_t, WeightedIntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint16_t, WeightedIntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint32_t, WeightedIntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint64_t, WeightedIntegerSum>();

} // namespace wr::cuda
