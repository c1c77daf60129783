// Softmax of f32 rows of whole vectors, of which elements may be left out.
#include "cuda/softmax_selected.cuh"

namespace wr::cuda {

const SelectedSoftmaxKernels &selected_softmax_kernels_f32() { return selected_softmax_kernels<float>(); }

} // namespace wr::cuda
