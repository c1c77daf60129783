// The gradient of softmax of rows of whole vectors, each of which has a scale of its own: the kernels of rows that have
// one, with the arguments of a thread's own row.
#include "cuda/device/intrinsics.cuh"
#include "cuda/softmax_backward/rows.cuh"
#include "numerics/softmax_rows.h"

namespace wr::cuda {

template <class Part, bool FromLogits>
__global__ void __maxnreg__((backward_row_registers<Part>))
    backward_scaled_vectors(const __grid_constant__ ScaledBackwardVectorArguments all) {
    pdl_wait_and_release();
    const std::size_t row = RowTileOf<Part::tile>(all.cluster_blocks).row;
    BackwardVectorArguments a = all;
    a.scale = scale_of_row<float>(all, row < all.rows ? row : 0);
    do_backward_rows<Part, FromLogits, Alignment::vector>(a);
}

template <class T>
const ScaledBackwardKernels &scaled_backward_kernels() {
    static const ScaledBackwardKernels kernels{{address_of(backward_scaled_vectors<WholeTile<T>, false>),
                                                address_of(backward_scaled_vectors<WholeTile<T>, true>)}};
    return kernels;
}

template const ScaledBackwardKernels &scaled_backward_kernels<float>();
template const ScaledBackwardKernels &scaled_backward_kernels<F16>();
template const ScaledBackwardKernels &scaled_backward_kernels<BF16>();

} // namespace wr::cuda
