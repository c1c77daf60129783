// The kernels for rows that lengths, the causal limit or a mask cut, and the registers of each.
#pragma once

#include "cuda/common/kernel_address.cuh"
#include "cuda/softmax/rows/masked_cluster_rows.cuh"

namespace wr::cuda {

// 16-bit rows have registers for 40 warps (H200, bf16 log-softmax, lengths of 1024, 4096, 32768, 2 GiB: 980, 921, 995
// us, by 32 warps 1008, 947, 1031), for 32 where outputs are of another type (bf16 into f32, 4096: lengths 1399, by 40
// warps 1466, masked 1896 and 2051).
template <class Rows>
inline constexpr int narrow_masked_warps = converts<Rows> ? 32 : 40;
template <class Rows>
inline constexpr int narrow_masked_registers = narrow_masked_warps<Rows> == 40 ? 48 : 64; // for as many

// f32 rows in blocks of 4 warps, of which 28 have 72 registers each (lengths, masked of 32768 819, 1146 us; 64 spill:
// 836, 1200), where these do: outputs of another type (into bf16, lengths of 4096, 32768 673, 679, with 72 729, 794)
// and rows anywhere spill.
template <class Rows>
inline constexpr int wide_masked_registers = Rows::anywhere || converts<Rows> ? 80 : 72;

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

template <class Rows>
const MaskedRowsKernels &make_masked_rows_kernels() {
    static const MaskedRowsKernels kernels = {masked_kernel<Rows, false>(), masked_kernel<Rows, true>()};
    return kernels;
}

template <class T, Alignment Where>
const MaskedRowsKernels &masked_rows_kernels() {
    return make_masked_rows_kernels<MaskedRows<T, Where>>();
}
template <class T>
const MaskedRowsKernels &converting_masked_kernels() {
    return make_masked_rows_kernels<MaskedRows<T, Alignment::vector, true>>();
}

} // namespace wr::cuda
