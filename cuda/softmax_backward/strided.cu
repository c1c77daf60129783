// The gradient of softmax of any rows: of f32 and of narrower floats, and of f64.
#include "cuda/softmax_backward/strided_columns.cuh"

namespace wr::cuda {

using namespace strided;

const StridedKernels &softmax_backward_kernels_f32() { return strided_kernels<StridedColumnGradient<float>>(); }
const StridedKernels &softmax_backward_kernels_f64() { return strided_kernels<StridedColumnGradient<double>>(); }

} // namespace wr::cuda
