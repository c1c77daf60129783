// Exact sums of short rows that consist of whole vectors: a few lanes have one, and have all of it at once.
#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/exact/kernels.h"
#include "cuda/reduce/exact/lane_sum.cuh"

namespace wr::cuda {

// Outputs of a warp are neighbours, each of `a.down` lanes.
template <class T>
__global__ void __launch_bounds__(exact_row_threads, 3) exact_sum_short_rows(const __grid_constant__ ExactArguments a) {
    __shared__ std::int64_t columns[bin_places<T>];
    __shared__ std::int64_t words[row_warps][words_of_row];
    pdl_wait_and_release();
    const int lane = lane_index(), rows = warp_lanes / a.down, row = lane / a.down;
    const std::size_t first = ((a.first_block + blockIdx.x) * row_warps + static_cast<std::size_t>(warp_index())) *
                              static_cast<std::size_t>(rows);
    if (first >= a.outputs) {
        return;
    }
    const std::size_t output = first + static_cast<std::size_t>(row);
    const auto vectors = static_cast<int>(a.shape.axis * sizeof(T) / 16);
    const auto *vector = reinterpret_cast<const uint4 *>(begin_of_row(a, smaller(output, a.outputs - 1), sizeof(T)));
    uint4 mine[exact_short_row_vectors];
#pragma unroll
    for (int v = 0; v < exact_short_row_vectors; ++v) {
        const int i = v * a.down + lane % a.down;
        mine[v] = i < vectors ? __ldcs(vector + i) : uint4{a.filler, a.filler, a.filler, a.filler};
    }
    Mapping mapping{};
    mapping.type = a.type;
    LaneSum<T> sum(columns + (LaneSum<T>::bins == 0 ? 0 : threadIdx.x));
#pragma unroll
    for (int v = 0; v < exact_short_row_vectors; v += vectors_together<T>) {
        if (v * a.down < vectors) {
            add_vectors<false>(sum, mine, v, a.ignore_nan, mapping);
        }
    }
    if (a.partials == nullptr && !sum.uses_bins()) {
        finish_rows(a, sum, a.down, output);
        return;
    }
    if constexpr (LaneSum<T>::bins != 0) {
        finish_rows_with_bins(a, sum, a.down, output);
    } else {
#pragma unroll 1
        for (int i = 0; i < rows && first + static_cast<std::size_t>(i) < a.outputs; ++i) {
            store_warp(sum, row == i, false, words[warp_index()]);
            __syncwarp();
            finish_words(a, &words[warp_index()][0], first + static_cast<std::size_t>(i), 0);
            __syncwarp();
        }
    }
}

const void *exact_short_rows_kernel(ElementType type) {
    switch (type) {
    case ElementType::f32:
        return address_of(exact_sum_short_rows<float>);
    case ElementType::f16:
        return address_of(exact_sum_short_rows<F16>);
    case ElementType::bf16:
        return address_of(exact_sum_short_rows<BF16>);
    default:
        return address_of(exact_sum_short_rows<AnyFloat8>);
    }
}

} // namespace wr::cuda
