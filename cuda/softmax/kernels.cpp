// Puts the softmax kernels of each element type together, which are compiled by kinds.
#include "cuda/softmax/kernels.h"

#include "cuda/common/vectors.h"

namespace wr::cuda {

namespace {

template <class T>
const SoftmaxKernels &softmax_kernels() {
    static const SoftmaxKernels kernels = [] {
        SoftmaxKernels made{};
        softmax_cta_rows<T>(made.vectors);
        softmax_cluster_rows<T>(made.vectors);
        made.unaligned = softmax_unaligned_kernels<T>();
        made.two_pass_rows = softmax_two_pass_row_kernels<T>();
        if constexpr (sizeof(T) < sizeof(double)) {
            made.converted = softmax_converted_kernels<T>();
            made.unaligned_converted = softmax_unaligned_converted_kernels<T>();
        }
        made.short_rows = softmax_short_row_kernels<T>();
        if constexpr (sizeof(T) < sizeof(double)) {
            set_thread_rows<T>(made.short_rows);
        }
        made.tiles = softmax_register_tile_kernels<T>();
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
