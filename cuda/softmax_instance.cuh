// Makes the set of softmax kernels of one element type.
#pragma once

#include "cuda/softmax_column_tiles.cuh"
#include "cuda/softmax_lane_rows.cuh"
#include "cuda/softmax_packed_rows.cuh"
#include "cuda/softmax_row_instance.cuh"
#include "cuda/softmax_short_rows.cuh"

namespace wr::cuda {

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
SoftmaxShortRowKernels softmax_short_row_kernels() {
    SoftmaxShortRowKernels kernels{};
    kernels.any[0] = address_of(softmax_short_rows<T, false>);
    kernels.any[1] = address_of(softmax_short_rows<T, true>);
    if constexpr (sizeof(T) < sizeof(double)) {
        kernels.of_a_lane[0] = address_of(softmax_lane_rows<T, false>);
        kernels.of_a_lane[1] = address_of(softmax_lane_rows<T, true>);
        kernels.packed[0] = address_of(softmax_packed_rows<T, false, false>);
        kernels.packed[1] = address_of(softmax_packed_rows<T, true, false>);
        kernels.staged[0] = address_of(softmax_packed_rows<T, false, true>);
        kernels.staged[1] = address_of(softmax_packed_rows<T, true, true>);
    }
    return kernels;
}

template <class T>
const SoftmaxKernels &softmax_kernels() {
    static const SoftmaxRareKernels rare = softmax_rare_kernels<T>();
    static const SoftmaxKernels kernels{
        softmax_row_kernels<T, VectorPlaces<T>>(softmax_long_row_kernels<T, VectorPlaces<T>>()),
        softmax_row_kernels<T, ShiftedPlaces<T>>(rare.shifted),
        rare,
        softmax_short_row_kernels<T>(),
        softmax_tile_kernels<T>(),
        static_cast<int>(sizeof(T))};
    return kernels;
}

} // namespace wr::cuda
