// Float sums kept in f64.
#include "cuda/reduce_instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<double, FloatSum<double>>();
template const ReduceKernels &reduce_kernels<float, FloatSum<double>>();

} // namespace wr::cuda
