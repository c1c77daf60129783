// The kernels for rows that lengths, the causal limit or a mask cut, and the registers of each.
#pragma once

#include "cuda/kernel_address.cuh"
#include "cuda/softmax_cut_clusters.cuh"

namespace wr::cuda {

// Log-softmax of 16-bit rows spills up to 40 bytes with registers for 40 warps (H200, bf16, lengths of 1024, 4096,
// 32768, 2 GiB: 980, 921, 995 us, by 32 warps 1008, 947, 1031; masked 8192, 32768 1338, 1415, by 32 warps 1420, 1490).
template <class T, Cut Which, bool Log, Lie Where>
const void *cut_rows_kernel() {
    if constexpr (sizeof(T) == 4 && Where == Lie::on_boundaries) {
        return nullptr;
    } else {
        constexpr int resident_warps = sizeof(T) == 4 ? 24 : 40;
        return address_of(softmax_cut_rows<CutRows<T, Which, Log, Where>, cut_rows_warps, resident_warps>);
    }
}

// f32 rows in blocks of 4 warps, of which 28 have 72 registers each (lengths, masked, log of lengths of 32768 819,
// 1146, 858 us; 64 spill: 836, 1200, 936). Masked log-softmax spills there (1233, with 80 1172), and so do rows
// anywhere.
template <class T, Cut Which, bool Log, Lie Where>
const void *cut_clusters_kernel() {
    using Rows = CutRows<T, Which, Log, Where>;
    if constexpr (sizeof(T) == 4) {
        constexpr int registers = Where == Lie::anywhere || (Log && Which == Cut::out) ? 80 : 72;
        return address_of(softmax_cut_clusters_within<Rows, registers>);
    } else {
        return address_of(softmax_cut_clusters<Rows, 40>);
    }
}

template <class T, Lie Where>
const CutRowsKernels &cut_rows_kernels() {
    constexpr Cut off = Cut::off, out = Cut::out;
    static const CutRowsKernels kernels = {
        {{cut_rows_kernel<T, off, false, Where>(), cut_rows_kernel<T, off, true, Where>()},
         {cut_rows_kernel<T, out, false, Where>(), cut_rows_kernel<T, out, true, Where>()}},
        {{cut_clusters_kernel<T, off, false, Where>(), cut_clusters_kernel<T, off, true, Where>()},
         {cut_clusters_kernel<T, out, false, Where>(), cut_clusters_kernel<T, out, true, Where>()}}};
    return kernels;
}

} // namespace wr::cuda
