// Makes the softmax kernels of one element type, by the kinds that are compiled side by side.
#pragma once

#include "cuda/softmax/columns/register_tiles.cuh"
#include "cuda/softmax/rows/instance.cuh"
#include "cuda/softmax/sub_warp/staged_rows.cuh"
#include "cuda/softmax/sub_warp/thread_rows.cuh"
#include "cuda/softmax/sub_warp/vector_rows.cuh"

namespace wr::cuda {

template <class T>
void softmax_block_rows(SoftmaxRowKernels &kernels) {
    add_block_rows<T, VectorPlaces<T>>(kernels);
}

template <class T>
void softmax_cluster_rows(SoftmaxRowKernels &kernels) {
    add_cluster_rows<T, VectorPlaces<T>>(kernels);
    kernels.long_rows = softmax_long_row_kernels<T, VectorPlaces<T>>();
}

template <class T>
SoftmaxRowKernels softmax_shifted_kernels(const SoftmaxLongRowKernels &long_rows) {
    return softmax_row_kernels<T, ShiftedPlaces<T>>(long_rows);
}

template <class T>
SoftmaxRowKernels softmax_shifted_converted_kernels(const SoftmaxLongRowKernels &long_rows) {
    using Places = ConvertedShiftedPlaces<T>;
    return softmax_row_kernels<T, Places>(
        {long_rows.piece_states,
         {address_of(softmax_apply<T, Places, false>), address_of(softmax_apply<T, Places, true>)}});
}

template <class T, bool Log>
void set_tile_kernels(const void *(&kernels)[softmax_tile_sizes]) {
    constexpr bool wide = sizeof(T) == 8;
    kernels[0] =
        address_of(softmax_column_tiles < T, Log, softmax_tiles[0].threads, softmax_tiles[0].columns, wide ? 1 : 2 >);
    if constexpr (!wide) {
        kernels[1] = address_of(softmax_column_tiles<T, Log, softmax_tiles[1].threads, softmax_tiles[1].columns, 1>);
    }
}

template <class T>
SoftmaxTileKernels softmax_tile_kernels() {
    SoftmaxTileKernels kernels{};
    set_tile_kernels<T, false>(kernels.of[0]);
    set_tile_kernels<T, true>(kernels.of[1]);
    return kernels;
}

template <class T>
void softmax_rows_of_lanes(SoftmaxShortRowKernels &kernels) {
    kernels.of_a_lane[0] = address_of(softmax_lane_rows<T, false>);
    kernels.of_a_lane[1] = address_of(softmax_lane_rows<T, true>);
}

template <class T>
SoftmaxShortRowKernels softmax_short_row_kernels() {
    SoftmaxShortRowKernels kernels{};
    kernels.any[0] = address_of(softmax_short_rows<T, false>);
    kernels.any[1] = address_of(softmax_short_rows<T, true>);
    if constexpr (sizeof(T) < sizeof(double)) {
        kernels.packed[0] = address_of(softmax_packed_rows<T, false, PackedRows::plain>);
        kernels.packed[1] = address_of(softmax_packed_rows<T, true, PackedRows::plain>);
        kernels.staged[0] = address_of(softmax_packed_rows<T, false, PackedRows::staged>);
        kernels.staged[1] = address_of(softmax_packed_rows<T, true, PackedRows::staged>);
    }
    return kernels;
}

} // namespace wr::cuda
