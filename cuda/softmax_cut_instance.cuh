// The kernels for rows that lengths, the causal limit or a mask cut, and the registers of each.
#pragma once

#include "cuda/kernel_address.cuh"
#include "cuda/softmax_cut_clusters.cuh"

namespace wr::cuda {

// Log-softmax of 16-bit rows spills up to 40 bytes with registers for 40 warps (H200, bf16, lengths of 1024, 4096,
// 32768, 2 GiB: 980, 921, 995 us, by 32 warps 1008, 947, 1031; masked 8192, 32768 1338, 1415, by 32 warps 1420, 1490).
// Where outputs are of another type 32 are better but for masked log-softmax (bf16 into f32, 4096: lengths 1399, by 40
// warps 1466, masked 1896 and 2051, log of lengths 1415 and 1492, masked log 2121 and 1906).
template <class Rows>
inline constexpr int narrow_cut_warps = converts<Rows> && !(Rows::log && Rows::masked) ? 32 : 40;

// f32 rows in blocks of 4 warps, of which 28 have 72 registers each (lengths, masked of 32768 819, 1146 us; 64 spill:
// 836, 1200), where these do: log-softmax (lengths, masked of 4096 822, 1167, with 72 852, 1262), outputs of another
// type (into bf16, lengths of 4096, 32768 594, 620, with 72 more than a tenth slower) and rows anywhere spill.
template <class Rows>
inline constexpr int wide_cut_registers = Rows::anywhere || Rows::log || converts<Rows> ? 80 : 72;

template <class T, Cut Which, bool Log, Lie Where, bool Converts>
const void *cut_rows_kernel() {
    using Rows = CutRows<T, Which, Log, Where, Converts>;
    if constexpr (sizeof(T) == 4) {
        return address_of(softmax_cut_rows_within<Rows, wide_cut_registers<Rows>>);
    } else {
        return address_of(softmax_cut_rows<Rows, narrow_cut_warps<Rows>>);
    }
}
template <class T, Cut Which, bool Log, Lie Where, bool Converts>
const void *cut_clusters_kernel() {
    using Rows = CutRows<T, Which, Log, Where, Converts>;
    if constexpr (sizeof(T) == 4) {
        return address_of(softmax_cut_clusters_within<Rows, wide_cut_registers<Rows>>);
    } else {
        return address_of(softmax_cut_clusters<Rows, narrow_cut_warps<Rows>>);
    }
}

template <class T, bool Log, Lie Where, bool Converts>
const CutRowsKernels &make_cut_rows_kernels() {
    static const CutRowsKernels kernels = {
        {cut_rows_kernel<T, Cut::off, Log, Where, Converts>(), cut_rows_kernel<T, Cut::out, Log, Where, Converts>()},
        {cut_clusters_kernel<T, Cut::off, Log, Where, Converts>(),
         cut_clusters_kernel<T, Cut::out, Log, Where, Converts>()}};
    return kernels;
}

template <class T, bool Log, Lie Where>
const CutRowsKernels &cut_rows_kernels() {
    return make_cut_rows_kernels<T, Log, Where, false>();
}
template <class T, bool Log>
const CutRowsKernels &converting_cut_kernels() {
    return make_cut_rows_kernels<T, Log, Lie::on_boundaries, true>();
}

} // namespace wr::cuda
