// General softmax of f64.
#include "cuda/softmax_general.cuh"

namespace wr::cuda {

const GeneralKernels &general_softmax_kernels_f64() { return general::general_softmax_kernels<double, double>(); }

} // namespace wr::cuda
