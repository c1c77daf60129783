// Softmax of rows of whole vectors, of which elements may be left out, into other types and from 8 bits.
#include "cuda/softmax_selected.cuh"

namespace wr::cuda {

template const SelectedSoftmaxKernels &converting_softmax_kernels<float>();
template const SelectedSoftmaxKernels &converting_softmax_kernels<F16>();
template const SelectedSoftmaxKernels &converting_softmax_kernels<BF16>();

} // namespace wr::cuda
