// The gradient of softmax of f32 and of narrower floats.
#include "cuda/softmax_backward.cuh"

namespace wr::cuda {

const GeneralKernels &softmax_backward_kernels_f32() { return general::backward_kernels<float>(); }

} // namespace wr::cuda
