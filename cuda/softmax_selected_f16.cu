// Softmax of f16 rows of whole vectors, of which elements may be left out.
#include "cuda/softmax_selected.cuh"

namespace wr::cuda {

const SelectedSoftmaxKernels &selected_softmax_kernels_f16() { return selected_softmax_kernels<F16>(); }

} // namespace wr::cuda
