// Makes the softmax kernels of one element type, by the kinds that are compiled side by side.
#pragma once

#include "cuda/softmax/columns/register_tiles.cuh"
#include "cuda/softmax/rows/instance.cuh"
#include "cuda/softmax/sub_warp/staged_rows.cuh"
#include "cuda/softmax/sub_warp/thread_rows.cuh"
#include "cuda/softmax/sub_warp/vector_rows.cuh"

namespace wr::cuda {

template <class T>
void softmax_cta_rows(SoftmaxRowKernels &kernels) {
    add_block_rows<T, VectorLoad<T>>(kernels);
}

template <class T>
void softmax_cluster_rows(SoftmaxRowKernels &kernels) {
    add_cluster_rows<T, VectorLoad<T>>(kernels);
    kernels.two_pass_rows = softmax_two_pass_row_kernels<T, VectorLoad<T>>();
}

template <class T>
SoftmaxRowKernels softmax_unaligned_kernels(const SoftmaxTwoPassRowKernels &two_pass_rows) {
    return softmax_row_kernels<T, UnalignedLoad<T>>(two_pass_rows);
}

template <class T>
SoftmaxRowKernels softmax_unaligned_converted_kernels(const SoftmaxTwoPassRowKernels &two_pass_rows) {
    using Load = ConvertingUnalignedLoad<T>;
    return softmax_row_kernels<T, Load>(
        {two_pass_rows.split_states,
         {address_of(softmax_apply<T, Load, false>), address_of(softmax_apply<T, Load, true>)}});
}

template <class T, bool Log>
void set_tile_kernels(const void *(&kernels)[softmax_tile_sizes]) {
    constexpr bool wide = sizeof(T) == 8;
    kernels[0] =
        address_of(softmax_register_tiles < T, Log, softmax_tiles[0].threads, softmax_tiles[0].columns, wide ? 1 : 2 >);
    if constexpr (!wide) {
        kernels[1] = address_of(softmax_register_tiles<T, Log, softmax_tiles[1].threads, softmax_tiles[1].columns, 1>);
    }
}

template <class T>
SoftmaxRegisterTileKernels softmax_register_tile_kernels() {
    SoftmaxRegisterTileKernels kernels{};
    set_tile_kernels<T, false>(kernels.of[0]);
    set_tile_kernels<T, true>(kernels.of[1]);
    return kernels;
}

template <class T>
void set_thread_rows(SoftmaxShortRowKernels &kernels) {
    kernels.of_a_lane[0] = address_of(softmax_thread_rows<T, false>);
    kernels.of_a_lane[1] = address_of(softmax_thread_rows<T, true>);
}

template <class T>
SoftmaxShortRowKernels softmax_short_row_kernels() {
    SoftmaxShortRowKernels kernels{};
    kernels.any[0] = address_of(softmax_short_rows<T, false>);
    kernels.any[1] = address_of(softmax_short_rows<T, true>);
    if constexpr (sizeof(T) < sizeof(double)) {
        kernels.packed[0] = address_of(softmax_sub_warp_vectors<T, false, VectorRows::plain>);
        kernels.packed[1] = address_of(softmax_sub_warp_vectors<T, true, VectorRows::plain>);
        kernels.staged[0] = address_of(softmax_sub_warp_vectors<T, false, VectorRows::staged>);
        kernels.staged[1] = address_of(softmax_sub_warp_vectors<T, true, VectorRows::staged>);
    }
    return kernels;
}

} // namespace wr::cuda
