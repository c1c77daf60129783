// Sums of integers, bit operators and counts: near copies of each other, which compress together.
#include "cuda/reduce/instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<std::uint8_t, IntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint16_t, IntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint32_t, IntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint64_t, IntegerSum>();

template const ReduceKernels &reduce_kernels<std::uint8_t, BitOr>();
template const ReduceKernels &reduce_kernels<std::uint16_t, BitOr>();
template const ReduceKernels &reduce_kernels<std::uint32_t, BitOr>();
template const ReduceKernels &reduce_kernels<std::uint64_t, BitOr>();
template const ReduceKernels &reduce_kernels<std::uint8_t, BitXor>();
template const ReduceKernels &reduce_kernels<std::uint16_t, BitXor>();
template const ReduceKernels &reduce_kernels<std::uint32_t, BitXor>();
template const ReduceKernels &reduce_kernels<std::uint64_t, BitXor>();
template const ReduceKernels &reduce_kernels<std::uint8_t, Count>();
template const ReduceKernels &reduce_kernels<std::uint16_t, Count>();
template const ReduceKernels &reduce_kernels<std::uint32_t, Count>();
template const ReduceKernels &reduce_kernels<std::uint64_t, Count>();
template const ReduceKernels &reduce_kernels<FourWords, Count>();

} // namespace wr::cuda
