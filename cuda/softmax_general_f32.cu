// General softmax of f32.
#include "cuda/softmax_general.cuh"

namespace wr::cuda {

const GeneralKernels &general_softmax_kernels_f32() { return general::general_softmax_kernels<float, double>(); }

} // namespace wr::cuda
