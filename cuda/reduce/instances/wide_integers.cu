// Sums, sums with weights and products of integers that a float output takes whole.
#include "cuda/reduce/instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<std::uint16_t, WideIntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint32_t, WideIntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint64_t, WideIntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint16_t, WideWeightedSum>();
template const ReduceKernels &reduce_kernels<std::uint32_t, WideWeightedSum>();
template const ReduceKernels &reduce_kernels<std::uint64_t, WideWeightedSum>();
template const ReduceKernels &reduce_kernels<std::uint8_t, WideIntegerProduct>();
template const ReduceKernels &reduce_kernels<std::uint16_t, WideIntegerProduct>();
template const ReduceKernels &reduce_kernels<std::uint32_t, WideIntegerProduct>();
template const ReduceKernels &reduce_kernels<std::uint64_t, WideIntegerProduct>();
template const ReduceKernels &reduce_kernels<Counted<double>, Partial<WideIntegerProduct>>();

} // namespace wr::cuda
