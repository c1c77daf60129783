// Sums of integers and field words.
#include "cuda/reduce_instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<std::int32_t, IntegerSum>();
template const ReduceKernels &reduce_kernels<std::int64_t, IntegerSum>();
template const ReduceKernels &reduce_kernels<KoalaBear, KoalaBearSum>();

} // namespace wr::cuda
