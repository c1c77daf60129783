// Softmax of columns of whole vectors.
#include "cuda/softmax/columns/instance.cuh"
#include "cuda/softmax/lookback/columns.cuh"

namespace wr::cuda {

template const SoftmaxColumnKernels &softmax_column_kernels<float>();
template const SoftmaxTallKernels &softmax_tall_kernels<float>();
template const SoftmaxColumnKernels &softmax_column_kernels<F16>();
template const SoftmaxTallKernels &softmax_tall_kernels<F16>();
template const SoftmaxColumnKernels &softmax_column_kernels<BF16>();
template const SoftmaxTallKernels &softmax_tall_kernels<BF16>();

const SharedColumnsKernel &shared_columns_kernel() {
    using Shape = SharedColumnsShape<16, 5, 2>;
    static const SharedColumnsKernel kernel{address_of(softmax_shared_columns<Shape>),
                                            std::size_t{Shape::all_warps} * warp_lanes,
                                            Shape::parked * Shape::tile_bytes, Shape::waiting};
    return kernel;
}

} // namespace wr::cuda
