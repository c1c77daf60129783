// Softmax of columns of whole vectors.
#include "cuda/device/intrinsics.cuh"
#include "cuda/softmax/lookback/columns.cuh"
#include "cuda/softmax/two_pass/columns.cuh"

namespace wr::cuda {

template <class T>
const SoftmaxTwoPassColumnKernels &softmax_two_pass_column_kernels() {
    static const SoftmaxTwoPassColumnKernels kernels{address_of(softmax_two_pass_column_states<T>),
                                                     address_of(softmax_two_pass_column_outputs<T>)};
    return kernels;
}

template const SoftmaxTwoPassColumnKernels &softmax_two_pass_column_kernels<float>();
template const SoftmaxTwoPassColumnKernels &softmax_two_pass_column_kernels<F16>();
template const SoftmaxTwoPassColumnKernels &softmax_two_pass_column_kernels<BF16>();

const LookbackColumnsKernel &lookback_columns_kernel() {
    using Shape = LookbackColumnsShape<16, 5, 2>;
    static const LookbackColumnsKernel kernel{address_of(softmax_lookback_columns<Shape>),
                                              std::size_t{Shape::all_warps} * warp_lanes,
                                              Shape::deferred * Shape::tile_bytes, Shape::waiting};
    return kernel;
}

} // namespace wr::cuda
