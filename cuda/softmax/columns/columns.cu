// Softmax of columns of whole vectors.
#include "cuda/softmax/columns/instance.cuh"
#include "cuda/softmax/lookback/columns.cuh"

namespace wr::cuda {

template const SoftmaxColumnKernels &softmax_column_kernels<float>();
template const SoftmaxTwoPassColumnKernels &softmax_two_pass_column_kernels<float>();
template const SoftmaxColumnKernels &softmax_column_kernels<F16>();
template const SoftmaxTwoPassColumnKernels &softmax_two_pass_column_kernels<F16>();
template const SoftmaxColumnKernels &softmax_column_kernels<BF16>();
template const SoftmaxTwoPassColumnKernels &softmax_two_pass_column_kernels<BF16>();

const LookbackColumnsKernel &lookback_columns_kernel() {
    using Shape = LookbackColumnsShape<16, 5, 2>;
    static const LookbackColumnsKernel kernel{address_of(softmax_lookback_columns<Shape>),
                                              std::size_t{Shape::all_warps} * warp_lanes,
                                              Shape::deferred * Shape::tile_bytes, Shape::waiting};
    return kernel;
}

} // namespace wr::cuda
