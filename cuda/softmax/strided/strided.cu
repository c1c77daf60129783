// General softmax: of f32, of f64, and of 16- and 8-bit floats.
#include "cuda/softmax/strided/strided.cuh"

namespace wr::cuda {

using namespace strided;

const StridedKernels &strided_softmax_kernels_f32() { return strided_kernels<StridedColumnSoftmax<float, double>>(); }
const StridedKernels &strided_softmax_kernels_f64() { return strided_kernels<StridedColumnSoftmax<double, double>>(); }
const StridedKernels &strided_softmax_kernels_narrow() { return strided_kernels<StridedColumnSoftmax<float, float>>(); }

} // namespace wr::cuda
