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
        kernels.packed[0] = address_of(softmax_packed_rows<T, false, PackedRows::plain>);
        kernels.packed[1] = address_of(softmax_packed_rows<T, true, PackedRows::plain>);
        kernels.staged[0] = address_of(softmax_packed_rows<T, false, PackedRows::staged>);
        kernels.staged[1] = address_of(softmax_packed_rows<T, true, PackedRows::staged>);
    }
    return kernels;
}

template <class T>
SoftmaxConvertedKernels converted_kernels(const void *piece_states) {
    if constexpr (sizeof(T) < sizeof(double)) {
        return softmax_converted_kernels<T>(piece_states);
    } else {
        return {};
    }
}

template <class T>
const SoftmaxKernels &softmax_kernels() {
    static const SoftmaxRareKernels rare = softmax_rare_kernels<T>();
    static const SoftmaxLongRowKernels long_rows = softmax_long_row_kernels<T, VectorPlaces<T>>();
    static const SoftmaxKernels kernels{softmax_row_kernels<T, VectorPlaces<T>>(long_rows),
                                        softmax_row_kernels<T, ShiftedPlaces<T>>(rare.shifted),
                                        converted_kernels<T>(long_rows.piece_states),
                                        rare,
                                        softmax_short_row_kernels<T>(),
                                        softmax_tile_kernels<T>(),
                                        static_cast<int>(sizeof(T))};
    return kernels;
}

} // namespace wr::cuda
