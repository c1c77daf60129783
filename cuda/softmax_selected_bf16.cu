// Softmax of bf16 rows of whole vectors, of which elements may be left out.
#include "cuda/softmax_selected.cuh"

namespace wr::cuda {

const SelectedSoftmaxKernels &selected_softmax_kernels_bf16() { return selected_softmax_kernels<BF16>(); }

} // namespace wr::cuda
