// General softmax: of f32, of f64, and of 16- and 8-bit floats.
#include "cuda/softmax_general.cuh"

namespace wr::cuda {

const GeneralKernels &general_softmax_kernels_f32() { return general::general_softmax_kernels<float, double>(); }
const GeneralKernels &general_softmax_kernels_f64() { return general::general_softmax_kernels<double, double>(); }
const GeneralKernels &general_softmax_kernels_narrow() { return general::general_softmax_kernels<float, float>(); }

} // namespace wr::cuda
