// Sums of magnitudes and squares of floats.
#include "cuda/reduce_instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<float, MappedFloatSum<float>>();
template const ReduceKernels &reduce_kernels<AnyFloat16, MappedFloatSum<float>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, MappedFloatSum<float>>();
template const ReduceKernels &reduce_kernels<double, MappedFloatSum<double>>();
template const ReduceKernels &reduce_kernels<float, MappedFloatSum<double>>();
template const ReduceKernels &reduce_kernels<AnyFloat16, MappedFloatSum<double>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, MappedFloatSum<double>>();

} // namespace wr::cuda
