// The gradient of softmax of any rows: of f32 and of narrower floats, and of f64.
#include "cuda/softmax_backward/strided_columns.cuh"

namespace wr::cuda {

namespace {

template <class Float>
const StridedKernels &kernels_of() {
    using namespace strided;
    static const StridedKernels kernels{
        whole_rows_kernel<Float>(),          address_of(backward_rows<Float>),
        address_of(backward_splits<Float>),  address_of(backward_totals<Float>),
        address_of(backward_columns<Float>), address_of(backward_resident_columns<Float>),
        resident_elements<Float> / 2};
    return kernels;
}

} // namespace

const StridedKernels &softmax_backward_kernels_f32() { return kernels_of<float>(); }
const StridedKernels &softmax_backward_kernels_f64() { return kernels_of<double>(); }

} // namespace wr::cuda
