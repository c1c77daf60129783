// Softmax of rows of whole vectors, of a few tiles, each of which has a scale of its own: kernels of rows that are cut
// off, to which a warp gives the arguments of its own row.
#include "cuda/softmax/rows/masked_rows.cuh"

namespace wr::cuda {

// For 32 warps of 16 bits and 24 of f32: none spills.
template <class Rows>
inline constexpr int scaled_registers = sizeof(typename Rows::Element) == 2 ? 64 : 80;

template <class Rows, bool ByCluster>
__global__ void __maxnreg__(scaled_registers<Rows>)
    softmax_scaled_within(const __grid_constant__ ScaledRowsArguments all) {
    __shared__ MaskedRowsArguments of_warps[ByCluster ? masked_cluster_warps : masked_rows_warps];
    pdl_wait_and_release();
    MaskedRowsArguments &a = of_warps[thread_y_again() * static_cast<int>(blockDim.x / warp_lanes) + warp_again()];
    if (lane_index() == 0) {
        const std::size_t row = RowTile(all.cluster_blocks).row;
        a = all;
        a.narrow_scale = row < all.outer ? scale_of_row<float>(all, row) : 1.0f;
        a.scale = a.narrow_scale;
        a.scaled = a.narrow_scale != 1.0f;
    }
    __syncwarp();
    softmax_of_masked_rows<Rows, ByCluster>(a);
}

template <class T>
const MaskedRowsKernels &scaled_rows_kernels() {
    using Rows = MaskedRows<T, Alignment::vector>;
    static const MaskedRowsKernels kernels = {address_of(softmax_scaled_within<Rows, false>),
                                              address_of(softmax_scaled_within<Rows, true>)};
    return kernels;
}

template const MaskedRowsKernels &scaled_rows_kernels<float>();
template const MaskedRowsKernels &scaled_rows_kernels<F16>();
template const MaskedRowsKernels &scaled_rows_kernels<BF16>();

} // namespace wr::cuda
