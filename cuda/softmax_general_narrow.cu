// General softmax of 16- and 8-bit floats.
#include "cuda/softmax_general.cuh"

namespace wr::cuda {

const GeneralKernels &general_softmax_kernels_narrow() { return general::general_softmax_kernels<float, float>(); }

} // namespace wr::cuda
