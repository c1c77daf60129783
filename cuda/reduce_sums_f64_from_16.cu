// Sums of 16-bit floats kept in f64.
#include "cuda/reduce_instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<F16, FloatSum<double>>();
template const ReduceKernels &reduce_kernels<BF16, FloatSum<double>>();

} // namespace wr::cuda
