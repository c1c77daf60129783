// The gradient of softmax of rows of neighbouring elements.
#include "cuda/common/kernel_address.cuh"
#include "cuda/softmax_backward/flat_rows.cuh"
#include "cuda/softmax_backward/persistent_cluster.cuh"
#include "cuda/softmax_backward/rows.cuh"
#include "cuda/softmax_backward/rows_anywhere.cuh"
#include "cuda/softmax_backward/sub_warp_rows.cuh"

namespace wr::cuda {

template <class Part>
SubWarpKernels sub_warp_kernels() {
    return {.of = {address_of(backward_sub_warp_rows<Part, false>), address_of(backward_sub_warp_rows<Part, true>)},
            .warp_elements = Part::tile};
}

// Of 16 bits, whose arithmetic takes longer than memory, vectors are moved in registers (4096 x 50257 log-softmax 396
// us, else 421), wider ones go through shared memory (649 us, else 813).
template <class T, bool FromLogits>
const void *anywhere_kernel() {
    if constexpr (sizeof(T) == 2) {
        return address_of(backward_vectors<WholeTile<T>, FromLogits, Alignment::element>);
    } else {
        return address_of(backward_anywhere<FromLogits>);
    }
}

template <class T>
inline constexpr std::size_t flat_few_elements = sizeof(T) == 2 ? backward_flat_elements : backward_flat_few_elements;

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
        .anywhere = {anywhere_kernel<T, false>(), anywhere_kernel<T, true>()},
        .elements = {address_of(backward_vectors<ElementTile<T>, false>),
                     address_of(backward_vectors<ElementTile<T>, true>)},
        .flat = {address_of(backward_flat_rows<FlatPart<T, backward_flat_elements>, false>),
                 address_of(backward_flat_rows<FlatPart<T, backward_flat_elements>, true>)},
        .flat_few = {address_of(backward_flat_rows<FlatPart<T, flat_few_elements<T>>, false>),
                     address_of(backward_flat_rows<FlatPart<T, flat_few_elements<T>>, true>)},
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
