// Norms of floats whose squares may leave the range.
#include "cuda/reduce/instance.cuh"

namespace wr::cuda {

template const ReduceKernels &reduce_kernels<float, ScaledSquareSum<float>>();
template const ReduceKernels &reduce_kernels<BF16, ScaledSquareSum<float>>();
template const ReduceKernels &reduce_kernels<double, ScaledSquareSum<double>>();
template const ReduceKernels &reduce_kernels<StoredScaled, Partial<ScaledSquareSum<float>>>();
template const ReduceKernels &reduce_kernels<Scaled<double>, Partial<ScaledSquareSum<double>>>();

} // namespace wr::cuda
