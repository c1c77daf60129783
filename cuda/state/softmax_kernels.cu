// States of softmax: of f32, of f64, and of 16- and 8-bit floats.
#include "cuda/state/softmax_outputs.cuh"
#include "cuda/state/softmax_state.cuh"

namespace wr::cuda {

// Out of the way of what is merged into its place.
__global__ void __launch_bounds__(softmax_state_threads)
    copy_state_words(const __grid_constant__ CopyStateArguments a) {
    pdl_wait_and_release();
    const std::uint64_t step = std::uint64_t{gridDim.x} * softmax_state_threads;
    for (std::uint64_t i = std::uint64_t{blockIdx.x} * softmax_state_threads + threadIdx.x; i < a.words; i += step) {
        a.to[i] = a.from[i];
    }
}

const void *copy_state_kernel() { return address_of(copy_state_words); }

template <class Float, class Sum>
const SoftmaxStateKernels &softmax_state_kernels() {
    static const SoftmaxStateKernels kernels{address_of(softmax_state_rows<StridedBlocks<Float, Sum>>),
                                             address_of(softmax_state_columns<Float, Sum>),
                                             address_of(softmax_state_runs<Float, Sum>),
                                             address_of(softmax_state_merge<Float, Sum>),
                                             address_of(softmax_state_finish<Float, Sum>),
                                             address_of(softmax_piece_totals<Float, Sum>),
                                             address_of(softmax_piece_rows<Float, Sum>),
                                             address_of(softmax_piece_columns<Float, Sum>)};
    return kernels;
}

template const SoftmaxStateKernels &softmax_state_kernels<float, double>();
template const SoftmaxStateKernels &softmax_state_kernels<double, double>();
template const SoftmaxStateKernels &softmax_state_kernels<float, float>();

} // namespace wr::cuda
