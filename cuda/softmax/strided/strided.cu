// General softmax: of f32, of f64, and of 16- and 8-bit floats.
#include "cuda/softmax/strided/columns.cuh"

namespace wr::cuda {

namespace {

template <class Float, class Sum>
const StridedKernels &kernels_of() {
    using namespace strided;
    static const StridedKernels kernels{whole_rows_kernel<Float, Sum>(),
                                        address_of(strided_rows<Float, Sum>),
                                        address_of(strided_splits<Float, Sum>),
                                        address_of(strided_totals<Float, Sum>),
                                        address_of(strided_columns<Float, Sum>),
                                        address_of(strided_resident_columns<Float, Sum>),
                                        resident_elements<Float>};
    return kernels;
}

} // namespace

const StridedKernels &strided_softmax_kernels_f32() { return kernels_of<float, double>(); }
const StridedKernels &strided_softmax_kernels_f64() { return kernels_of<double, double>(); }
const StridedKernels &strided_softmax_kernels_narrow() { return kernels_of<float, float>(); }

} // namespace wr::cuda
