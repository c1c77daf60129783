// Softmax of rows of whole vectors, of a few base blocks, that lengths, the causal limit or a mask cut.
#define WR_LANE_FROM_REGISTER
#include "cuda/softmax_cut_clusters.cuh"

namespace wr::cuda {

namespace {

// Log-softmax of 16-bit rows spills up to 40 bytes with registers for 40 warps (H200, bf16, lengths of 1024, 4096,
// 32768, 2 GiB: 980, 921, 995 us, by 32 warps 1008, 947, 1031; masked 8192, 32768 1338, 1415, by 32 warps 1420, 1490).
template <class T, Cut Which, bool Log>
const void *rows_kernel() {
    return address_of(softmax_cut_rows<CutRows<T, Which, Log, Lie::on_boundaries>, cut_rows_warps, 40>);
}

// f32 rows in blocks of 4 warps, of which 28 have 72 registers each (lengths, masked, log of lengths of 32768 819,
// 1146, 858 us; 64 spill: 836, 1200, 936); masked log-softmax spills there (1233, with 80 1172).
template <class T, Cut Which, bool Log>
const void *clusters_kernel() {
    using Rows = CutRows<T, Which, Log, Lie::on_boundaries>;
    if constexpr (sizeof(T) == 4) {
        constexpr int registers = Log && Which == Cut::out ? 80 : 72;
        return address_of(softmax_cut_clusters_within<Rows, registers>);
    } else {
        return address_of(softmax_cut_clusters<Rows, 40>);
    }
}

template <class T>
CutRowsKernels make_cut_rows_kernels() {
    constexpr Cut off = Cut::off, out = Cut::out;
    CutRowsKernels made{{},
                        {{clusters_kernel<T, off, false>(), clusters_kernel<T, off, true>()},
                         {clusters_kernel<T, out, false>(), clusters_kernel<T, out, true>()}}};
    if constexpr (sizeof(T) == 2) {
        made.of[0][0] = rows_kernel<T, off, false>();
        made.of[0][1] = rows_kernel<T, off, true>();
        made.of[1][0] = rows_kernel<T, out, false>();
        made.of[1][1] = rows_kernel<T, out, true>();
    }
    return made;
}

} // namespace

template <class T>
const CutRowsKernels &cut_rows_kernels() {
    static const CutRowsKernels kernels = make_cut_rows_kernels<T>();
    return kernels;
}

template const CutRowsKernels &cut_rows_kernels<float>();
template const CutRowsKernels &cut_rows_kernels<F16>();
template const CutRowsKernels &cut_rows_kernels<BF16>();

} // namespace wr::cuda
