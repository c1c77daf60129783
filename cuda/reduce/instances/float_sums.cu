// Sums of floats.
#include "cuda/reduce/instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<float, FloatSum<float>>();
template const ReduceKernels &reduce_kernels<F16, FloatSum<float>>();
template const ReduceKernels &reduce_kernels<BF16, FloatSum<float>>();
template const ReduceKernels &reduce_kernels<E4M3, FloatSum<float>>();
template const ReduceKernels &reduce_kernels<E5M2, FloatSum<float>>();
template const ReduceKernels &reduce_kernels<double, FloatSum<double>>();

} // namespace wr::cuda
