// The gradient of softmax of short rows of whole vectors.
#include "cuda/common/kernel_address.cuh"
#include "cuda/softmax_backward/sub_warp_vectors.cuh"

namespace wr::cuda {

template <class T>
const BackwardPackedKernels &backward_packed_kernels() {
    static const BackwardPackedKernels kernels = {
        {address_of(backward_packed_rows<T, false>), address_of(backward_packed_rows<T, true>)}};
    return kernels;
}

template const BackwardPackedKernels &backward_packed_kernels<float>();
template const BackwardPackedKernels &backward_packed_kernels<F16>();
template const BackwardPackedKernels &backward_packed_kernels<BF16>();

} // namespace wr::cuda
