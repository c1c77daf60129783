// The gradient of softmax of short rows of whole vectors.
#include "cuda/common/kernel_address.cuh"
#include "cuda/softmax_backward/sub_warp_vectors.cuh"

namespace wr::cuda {

template <class T>
const BackwardVectorRowsKernels &backward_sub_warp_kernels() {
    static const BackwardVectorRowsKernels kernels = {
        {address_of(backward_sub_warp_vectors<T, false>), address_of(backward_sub_warp_vectors<T, true>)}};
    return kernels;
}

template const BackwardVectorRowsKernels &backward_sub_warp_kernels<float>();
template const BackwardVectorRowsKernels &backward_sub_warp_kernels<F16>();
template const BackwardVectorRowsKernels &backward_sub_warp_kernels<BF16>();

} // namespace wr::cuda
