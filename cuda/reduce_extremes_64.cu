// Extremes with 64-bit keys.
#include "cuda/reduce_instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<double, Extreme<std::int64_t>>();
template const ReduceKernels &reduce_kernels<std::int64_t, Extreme<std::int64_t>>();

} // namespace wr::cuda
