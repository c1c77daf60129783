// Products of floats, and sums of their magnitudes and squares: near copies of each other, which compress together.
#include "cuda/reduce/instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<float, FloatProduct<float>>();
template const ReduceKernels &reduce_kernels<AnyFloat16, FloatProduct<float>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, FloatProduct<float>>();
template const ReduceKernels &reduce_kernels<double, FloatProduct<double>>();
template const ReduceKernels &reduce_kernels<float, FloatProduct<double>>();
template const ReduceKernels &reduce_kernels<AnyFloat16, FloatProduct<double>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, FloatProduct<double>>();

template const ReduceKernels &reduce_kernels<float, MappedFloatSum<float>>();
template const ReduceKernels &reduce_kernels<AnyFloat16, MappedFloatSum<float>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, MappedFloatSum<float>>();
template const ReduceKernels &reduce_kernels<double, MappedFloatSum<double>>();
template const ReduceKernels &reduce_kernels<float, MappedFloatSum<double>>();
template const ReduceKernels &reduce_kernels<AnyFloat16, MappedFloatSum<double>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, MappedFloatSum<double>>();

} // namespace wr::cuda
