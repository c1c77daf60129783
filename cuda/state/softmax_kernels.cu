// States of softmax: of f32, of f64, and of 16- and 8-bit floats.
#include "cuda/state/softmax_outputs.cuh"
#include "cuda/state/softmax_state.cuh"

namespace wr::cuda {

template <class Float, class Sum>
const SoftmaxStateKernels &softmax_state_kernels() {
    static const SoftmaxStateKernels kernels{
        address_of(softmax_state_rows<Float, Sum>),   address_of(softmax_state_columns<Float, Sum>),
        address_of(softmax_state_runs<Float, Sum>),   address_of(softmax_state_merge<Float, Sum>),
        address_of(softmax_state_finish<Float, Sum>), address_of(softmax_piece_totals<Float, Sum>),
        address_of(softmax_piece_rows<Float, Sum>),   address_of(softmax_piece_columns<Float, Sum>)};
    return kernels;
}

template const SoftmaxStateKernels &softmax_state_kernels<float, double>();
template const SoftmaxStateKernels &softmax_state_kernels<double, double>();
template const SoftmaxStateKernels &softmax_state_kernels<float, float>();

} // namespace wr::cuda
