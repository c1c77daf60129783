// Softmax of rows of whole vectors, of which elements may be left out.
#define WR_LANE_FROM_REGISTER
#include "cuda/softmax_selected.cuh"

namespace wr::cuda {

template const SelectedSoftmaxKernels &selected_softmax_kernels<float>();
template const SelectedSoftmaxKernels &selected_softmax_kernels<F16>();
template const SelectedSoftmaxKernels &selected_softmax_kernels<BF16>();

} // namespace wr::cuda
