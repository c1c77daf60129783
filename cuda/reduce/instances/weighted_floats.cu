// Sums of floats with weights.
#include "cuda/reduce/instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<float, WeightedFloatSum<float>>();
template const ReduceKernels &reduce_kernels<AnyFloat16, WeightedFloatSum<float>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, WeightedFloatSum<float>>();
template const ReduceKernels &reduce_kernels<double, WeightedFloatSum<double>>();
template const ReduceKernels &reduce_kernels<float, WeightedFloatSum<double>>();
template const ReduceKernels &reduce_kernels<AnyFloat16, WeightedFloatSum<double>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, WeightedFloatSum<double>>();

} // namespace wr::cuda
