// The gradient of softmax of any rows: of f32 and of narrower floats, and of f64.
#include "cuda/softmax_backward.cuh"

namespace wr::cuda {

const GeneralKernels &softmax_backward_kernels_f32() { return general::backward_kernels<float>(); }
const GeneralKernels &softmax_backward_kernels_f64() { return general::backward_kernels<double>(); }

} // namespace wr::cuda
