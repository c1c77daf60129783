// The gradient of softmax of rows of neighbouring elements.
#include "cuda/common/kernel_address.cuh"
#include "cuda/softmax_backward/persistent_cluster.cuh"
#include "cuda/softmax_backward/rows.cuh"
#include "cuda/softmax_backward/sub_warp_rows.cuh"

namespace wr::cuda {

template <class Part>
SubWarpKernels sub_warp_kernels() {
    return {.of = {address_of(backward_sub_warp_rows<Part, false>), address_of(backward_sub_warp_rows<Part, true>)},
            .warp_elements = Part::tile};
}

template <class T>
const BackwardVectorKernels &backward_vector_kernels() {
    static const BackwardVectorKernels kernels{
        .whole_tiles = {address_of(backward_vectors<WholeTile<T>, false>),
                        address_of(backward_vectors<WholeTile<T>, true>)},
        .half_tiles = {address_of(backward_vectors<HalfTile<T>, false>),
                       address_of(backward_vectors<HalfTile<T>, true>)},
        .quarter_tiles = {address_of(backward_vectors<QuarterTile<T>, false>),
                          address_of(backward_vectors<QuarterTile<T>, true>)},
        .masked = {address_of(backward_masked_vectors<HalfTile<T>, false>),
                   address_of(backward_masked_vectors<HalfTile<T>, true>)},
        .persistent = {address_of(backward_persistent<T, false>), address_of(backward_persistent<T, true>)},
        .anywhere = {address_of(backward_vectors<WholeTile<T>, false, Alignment::element>),
                     address_of(backward_vectors<WholeTile<T>, true, Alignment::element>)},
        .elements = {address_of(backward_vectors<ElementTile<T>, false>),
                     address_of(backward_vectors<ElementTile<T>, true>)},
        .sub_warp_half_tiles = sub_warp_kernels<HalfTile<T>>(),
        .sub_warp_quarter_tiles = sub_warp_kernels<QuarterTile<T>>(),
        .sub_warp_elements = sub_warp_kernels<SubWarpElements<T>>(),
        .element_bytes = sizeof(T)};
    return kernels;
}

template const BackwardVectorKernels &backward_vector_kernels<float>();
template const BackwardVectorKernels &backward_vector_kernels<F16>();
template const BackwardVectorKernels &backward_vector_kernels<BF16>();

} // namespace wr::cuda
