// General softmax: of f32, of f64, and of 16- and 8-bit floats.
#include "cuda/softmax/strided/columns.cuh"

namespace wr::cuda {

namespace {

template <class Float, class Sum>
const GeneralKernels &kernels_of() {
    using namespace general;
    static const GeneralKernels kernels{whole_rows_kernel<Float, Sum>(),
                                        address_of(general_rows<Float, Sum>),
                                        address_of(general_pieces<Float, Sum>),
                                        address_of(general_totals<Float, Sum>),
                                        address_of(general_columns<Float, Sum>),
                                        address_of(general_held_columns<Float, Sum>),
                                        held_elements<Float>};
    return kernels;
}

} // namespace

const GeneralKernels &general_softmax_kernels_f32() { return kernels_of<float, double>(); }
const GeneralKernels &general_softmax_kernels_f64() { return kernels_of<double, double>(); }
const GeneralKernels &general_softmax_kernels_narrow() { return kernels_of<float, float>(); }

} // namespace wr::cuda
