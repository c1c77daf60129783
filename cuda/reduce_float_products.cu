// Products of floats.
#include "cuda/reduce_instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<float, FloatProduct<float>>();
template const ReduceKernels &reduce_kernels<AnyFloat16, FloatProduct<float>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, FloatProduct<float>>();
template const ReduceKernels &reduce_kernels<double, FloatProduct<double>>();
template const ReduceKernels &reduce_kernels<float, FloatProduct<double>>();
template const ReduceKernels &reduce_kernels<AnyFloat16, FloatProduct<double>>();
template const ReduceKernels &reduce_kernels<AnyFloat8, FloatProduct<double>>();

} // namespace wr::cuda
