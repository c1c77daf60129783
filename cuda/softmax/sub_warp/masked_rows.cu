// Softmax of short rows of which elements may be left out.
#include "cuda/device/intrinsics.cuh"
#include "cuda/softmax/sub_warp/staged_rows.cuh"
#include "cuda/softmax/sub_warp/vector_rows.cuh"

namespace wr::cuda {

template <class T>
const MaskedShortKernels &masked_short_kernels() {
    static const MaskedShortKernels kernels = {
        {address_of(softmax_masked_sub_warp_vectors<T, false>), address_of(softmax_masked_sub_warp_vectors<T, true>)},
        {address_of(softmax_masked_short_rows<T, false>), address_of(softmax_masked_short_rows<T, true>)}};
    return kernels;
}

template const MaskedShortKernels &masked_short_kernels<float>();
template const MaskedShortKernels &masked_short_kernels<F16>();
template const MaskedShortKernels &masked_short_kernels<BF16>();

} // namespace wr::cuda
