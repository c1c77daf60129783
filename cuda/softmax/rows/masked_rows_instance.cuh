// The kernels for rows that lengths, the causal limit or a mask cut, and the registers of each.
#pragma once

#include "cuda/common/kernel_address.cuh"
#include "cuda/softmax/rows/masked_cluster_rows.cuh"

namespace wr::cuda {

// Log-softmax of 16-bit rows spills up to 40 bytes with registers for 40 warps (H200, bf16, lengths of 1024, 4096,
// 32768, 2 GiB: 980, 921, 995 us, by 32 warps 1008, 947, 1031; masked 8192, 32768 1338, 1415, by 32 warps 1420, 1490).
// Where outputs are of another type 32 are better but for masked log-softmax (bf16 into f32, 4096: lengths 1399, by 40
// warps 1466, masked 1896 and 2051, log of lengths 1415 and 1492, masked log 2121 and 1906).
template <class Rows>
inline constexpr int narrow_masked_warps = converts<Rows> && !(Rows::log && Rows::masked) ? 32 : 40;
template <class Rows>
inline constexpr int narrow_masked_registers = narrow_masked_warps<Rows> == 40 ? 48 : 64; // for as many

// f32 rows in blocks of 4 warps, of which 28 have 72 registers each (lengths, masked of 32768 819, 1146 us; 64 spill:
// 836, 1200), where these do: log-softmax (lengths, masked of 4096 822, 1167, with 72 852, 1262), outputs of another
// type (into bf16, lengths of 4096, 32768 673, 679, with 72 729, 794; 592, 613 since) and rows anywhere spill.
template <class Rows>
inline constexpr int wide_masked_registers = Rows::anywhere || Rows::log || converts<Rows> ? 80 : 72;

// Rows of a block or a row of a cluster, with as many registers as leave room for so many warps on a multiprocessor,
// and with so many.
template <class Rows, bool ByCluster>
__device__ __forceinline__ void softmax_of_masked_rows(const MaskedRowsArguments &a) {
    if constexpr (ByCluster) {
        softmax_masked_row_of_cluster<Rows>(a);
    } else {
        softmax_masked_rows_of_block<Rows>(a);
    }
}
template <class Rows, bool ByCluster, int ResidentWarps>
__global__ void __launch_bounds__(masked_rows_warps *warp_lanes, ResidentWarps / masked_rows_warps)
    softmax_masked(const __grid_constant__ MaskedRowsArguments a) {
    softmax_of_masked_rows<Rows, ByCluster>(a);
}
template <class Rows, bool ByCluster, int Registers>
__global__ void __maxnreg__(Registers) softmax_masked_within(const __grid_constant__ MaskedRowsArguments a) {
    softmax_of_masked_rows<Rows, ByCluster>(a);
}

template <class Rows, bool ByCluster>
const void *masked_kernel() {
    if constexpr (sizeof(typename Rows::Element) == 4) {
        return address_of(softmax_masked_within<Rows, ByCluster, wide_masked_registers<Rows>>);
    } else if constexpr (ByCluster) { // whose blocks may have more warps
        return address_of(softmax_masked_within<Rows, true, narrow_masked_registers<Rows>>);
    } else {
        return address_of(softmax_masked<Rows, false, narrow_masked_warps<Rows>>);
    }
}

template <class T, bool Log, Alignment Where, bool Converts>
const MaskedRowsKernels &make_masked_rows_kernels() {
    constexpr Select prefix = has_prefix_kernels<T, Log, Where, Converts> ? Select::prefix : Select::masked;
    using Prefix = MaskedRows<T, prefix, Log, Where, Converts>;
    using Masked = MaskedRows<T, Select::masked, Log, Where, Converts>;
    static const MaskedRowsKernels kernels = {{masked_kernel<Prefix, false>(), masked_kernel<Masked, false>()},
                                              {masked_kernel<Prefix, true>(), masked_kernel<Masked, true>()}};
    return kernels;
}

template <class T, bool Log, Alignment Where>
const MaskedRowsKernels &masked_rows_kernels() {
    return make_masked_rows_kernels<T, Log, Where, false>();
}
template <class T, bool Log>
const MaskedRowsKernels &converting_masked_kernels() {
    return make_masked_rows_kernels<T, Log, Alignment::vector, true>();
}

} // namespace wr::cuda
