// Sums of integers.
#include "cuda/atomic_update.cuh"
#include "cuda/reduce_instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<std::uint8_t, IntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint16_t, IntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint32_t, IntegerSum>();
template const ReduceKernels &reduce_kernels<std::uint64_t, IntegerSum>();

} // namespace wr::cuda
