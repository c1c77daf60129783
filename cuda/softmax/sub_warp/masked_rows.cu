// Softmax of short rows of which elements may be left out.
#include "cuda/common/kernel_address.cuh"
#include "cuda/softmax/sub_warp/staged_rows.cuh"
#include "cuda/softmax/sub_warp/vector_rows.cuh"

namespace wr::cuda {

template <class T>
const SelectedShortKernels &selected_short_kernels() {
    static const SelectedShortKernels kernels = {
        {address_of(softmax_packed_selected<T, false>), address_of(softmax_packed_selected<T, true>)},
        {address_of(softmax_selected_short_rows<T, false>), address_of(softmax_selected_short_rows<T, true>)}};
    return kernels;
}

template const SelectedShortKernels &selected_short_kernels<float>();
template const SelectedShortKernels &selected_short_kernels<F16>();
template const SelectedShortKernels &selected_short_kernels<BF16>();

} // namespace wr::cuda
