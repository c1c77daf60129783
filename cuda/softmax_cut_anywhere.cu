// Softmax of rows anywhere in memory, of a few base blocks, that lengths, the causal limit or a mask cut.
#include "cuda/softmax_cut_clusters.cuh"

namespace wr::cuda {

namespace {

template <class T, Cut Which, bool Log>
const void *rows_kernel() {
    using Rows = CutRows<T, Which, Log, Lie::anywhere>;
    constexpr int resident_warps = sizeof(T) == 4 ? 24 : 40;
    return address_of(softmax_cut_rows<Rows, cut_rows_warps, resident_warps>);
}

// f32 rows in blocks of 4 warps, of which 24 have 80 registers each.
template <class T, Cut Which, bool Log>
const void *clusters_kernel() {
    using Rows = CutRows<T, Which, Log, Lie::anywhere>;
    if constexpr (sizeof(T) == 4) {
        return address_of(softmax_cut_clusters_within<Rows, 80>);
    } else {
        return address_of(softmax_cut_clusters<Rows, 40>);
    }
}

template <class T>
CutRowsKernels make_kernels() {
    constexpr Cut off = Cut::off, out = Cut::out;
    return {{{rows_kernel<T, off, false>(), rows_kernel<T, off, true>()},
             {rows_kernel<T, out, false>(), rows_kernel<T, out, true>()}},
            {{clusters_kernel<T, off, false>(), clusters_kernel<T, off, true>()},
             {clusters_kernel<T, out, false>(), clusters_kernel<T, out, true>()}}};
}

} // namespace

template <class T>
const CutRowsKernels &cut_rows_anywhere_kernels() {
    static const CutRowsKernels kernels = make_kernels<T>();
    return kernels;
}

template const CutRowsKernels &cut_rows_anywhere_kernels<float>();
template const CutRowsKernels &cut_rows_anywhere_kernels<F16>();
template const CutRowsKernels &cut_rows_anywhere_kernels<BF16>();

} // namespace wr::cuda
