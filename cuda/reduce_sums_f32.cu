// Float sums kept in f32.
#include "cuda/reduce_instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<float, FloatSum<float>>();
template const ReduceKernels &reduce_kernels<F16, FloatSum<float>>();
template const ReduceKernels &reduce_kernels<BF16, FloatSum<float>>();

} // namespace wr::cuda
