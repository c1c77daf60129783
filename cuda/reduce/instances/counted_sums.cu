// Sums of floats that leave NaNs out.
#include "cuda/reduce/instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<float, CountedFloatSum<float>>();
template const ReduceKernels &reduce_kernels<AnyFloat16, CountedFloatSum<float>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, CountedFloatSum<float>>();
template const ReduceKernels &reduce_kernels<double, CountedFloatSum<double>>();
template const ReduceKernels &reduce_kernels<float, CountedFloatSum<double>>();
template const ReduceKernels &reduce_kernels<AnyFloat16, CountedFloatSum<double>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, CountedFloatSum<double>>();
template const ReduceKernels &reduce_kernels<Counted<float>, Partial<CountedFloatSum<float>>>();
template const ReduceKernels &reduce_kernels<Counted<double>, Partial<CountedFloatSum<double>>>();

} // namespace wr::cuda
