// Puts the softmax kernels of each element type together, which are compiled by kinds.
#include "cuda/softmax/kernels.h"

#include "cuda/common/vector_types.h"

namespace wr::cuda {

namespace {

template <class T>
const SoftmaxKernels &softmax_kernels() {
    static const SoftmaxKernels kernels = [] {
        SoftmaxKernels made{};
        softmax_block_rows<T>(made.vectors);
        softmax_cluster_rows<T>(made.vectors);
        made.rare = softmax_rare_kernels<T>();
        made.shifted = softmax_shifted_kernels<T>(made.rare.shifted);
        if constexpr (sizeof(T) < sizeof(double)) {
            softmax_grid_rows<T>(made.vectors);
            made.converted = softmax_converted_kernels<T>(made.vectors.long_rows.piece_states);
            softmax_converted_logarithms<T>(made.converted);
            made.shifted_converted = softmax_shifted_converted_kernels<T>(made.rare.shifted);
        }
        made.short_rows = softmax_short_row_kernels<T>();
        if constexpr (sizeof(T) < sizeof(double)) {
            softmax_rows_of_lanes<T>(made.short_rows);
        }
        made.tiles = softmax_tile_kernels<T>();
        made.element_bytes = static_cast<int>(sizeof(T));
        return made;
    }();
    return kernels;
}

} // namespace

const SoftmaxKernels *find_softmax_kernels(ElementType dtype) {
    return dtype == ElementType::f64 ? &softmax_kernels<double>()
                                     : of_vector_type(dtype, []<class T>() { return &softmax_kernels<T>(); });
}

} // namespace wr::cuda
