// Sums of field elements with weights.
#include "cuda/reduce/instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<KoalaBear, WeightedFieldSum<KoalaBear>>();
template const ReduceKernels &reduce_kernels<BabyBear, WeightedFieldSum<BabyBear>>();
template const ReduceKernels &reduce_kernels<Mersenne31, WeightedFieldSum<Mersenne31>>();
template const ReduceKernels &reduce_kernels<Goldilocks, WeightedFieldSum<Goldilocks>>();
template const ReduceKernels &reduce_kernels<KoalaBearX4, WeightedFieldSum<KoalaBearX4>>();
template const ReduceKernels &reduce_kernels<BabyBearX4, WeightedFieldSum<BabyBearX4>>();
template const ReduceKernels &reduce_kernels<KoalaBear, ExtensionByBaseSum<KoalaBearX4>>();
template const ReduceKernels &reduce_kernels<KoalaBearX4, ExtensionByBaseSum<KoalaBearX4>>();
template const ReduceKernels &reduce_kernels<BabyBear, ExtensionByBaseSum<BabyBearX4>>();
template const ReduceKernels &reduce_kernels<BabyBearX4, ExtensionByBaseSum<BabyBearX4>>();

} // namespace wr::cuda
