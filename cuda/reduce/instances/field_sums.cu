// Sums of field elements.
#include "cuda/reduce/instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<KoalaBear, FieldSum<KoalaBear>>();
template const ReduceKernels &reduce_kernels<BabyBear, FieldSum<BabyBear>>();
template const ReduceKernels &reduce_kernels<Mersenne31, FieldSum<Mersenne31>>();
template const ReduceKernels &reduce_kernels<Goldilocks, FieldSum<Goldilocks>>();
template const ReduceKernels &reduce_kernels<KoalaBearX4, FieldSum<KoalaBearX4>>();
template const ReduceKernels &reduce_kernels<BabyBearX4, FieldSum<BabyBearX4>>();

} // namespace wr::cuda
