// States of softmax by vectors: of each type that has them.
#include "cuda/state/softmax_vectors.cuh"

namespace wr::cuda {

template <class T>
const SoftmaxVectorStateKernels &softmax_vector_state_kernels() {
    static const SoftmaxVectorStateKernels kernels{
        softmax_vector_kernels_of<T, VectorLoad<T>>(), softmax_vector_kernels_of<T, UnalignedLoad<T>>(),
        address_of(softmax_state_few_rows<VectorBlocks<T, StridedLoad<T>>>), address_of(softmax_piece_few_rows<T>)};
    return kernels;
}

template const SoftmaxVectorStateKernels &softmax_vector_state_kernels<float>();
template const SoftmaxVectorStateKernels &softmax_vector_state_kernels<double>();
template const SoftmaxVectorStateKernels &softmax_vector_state_kernels<F16>();
template const SoftmaxVectorStateKernels &softmax_vector_state_kernels<BF16>();

} // namespace wr::cuda
