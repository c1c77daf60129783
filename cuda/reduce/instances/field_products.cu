// Products of field elements, and sums of their squares.
#include "cuda/reduce/instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<KoalaBear, FieldProduct<KoalaBear>>();
template const ReduceKernels &reduce_kernels<BabyBear, FieldProduct<BabyBear>>();
template const ReduceKernels &reduce_kernels<Mersenne31, FieldProduct<Mersenne31>>();
template const ReduceKernels &reduce_kernels<Goldilocks, FieldProduct<Goldilocks>>();
template const ReduceKernels &reduce_kernels<KoalaBearX4, FieldProduct<KoalaBearX4>>();
template const ReduceKernels &reduce_kernels<BabyBearX4, FieldProduct<BabyBearX4>>();
template const ReduceKernels &reduce_kernels<KoalaBear, FieldSquareSum<KoalaBear>>();
template const ReduceKernels &reduce_kernels<BabyBear, FieldSquareSum<BabyBear>>();
template const ReduceKernels &reduce_kernels<Mersenne31, FieldSquareSum<Mersenne31>>();
template const ReduceKernels &reduce_kernels<Goldilocks, FieldSquareSum<Goldilocks>>();
template const ReduceKernels &reduce_kernels<KoalaBearX4, FieldSquareSum<KoalaBearX4>>();
template const ReduceKernels &reduce_kernels<BabyBearX4, FieldSquareSum<BabyBearX4>>();

} // namespace wr::cuda
