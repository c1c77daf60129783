// Rows spread over lanes: each holds as many neighbours as a vector has, so that the way from a load to a store is
// short. Any maximum goes the same way, so that there is none of its own for what is rare.
#pragma once

#include "cuda/common/kernel_address.cuh"
#include "cuda/device/parameters.cuh"
#include "cuda/device/warp_tree.cuh"
#include "cuda/softmax/outputs.cuh"
#include "cuda/softmax/rows/spread_rows.h"
#include "cuda/softmax/sub_warp/vectors.cuh"

namespace wr::cuda {

// A lane's neighbours of a row: `count` from number `first` on, none where that is not above 0.
template <class T, bool ByBlock>
struct SpreadRun {
    static constexpr int elements = vector_elements<T>;
    std::uint32_t row;
    int first, count;

    __device__ __forceinline__ explicit SpreadRun(const SpreadRowsArguments &a) {
        unsigned part = threadIdx.x;
        row = blockIdx.x;
        if constexpr (!ByBlock) {
            const unsigned lane = blockIdx.x * blockDim.x + threadIdx.x;
            row = lane >> a.log_lanes;
            part = lane & ((1u << a.log_lanes) - 1);
        }
        first = static_cast<int>(part) * elements;
        count = row < a.outer ? smaller(static_cast<int>(a.axis) - first, elements) : 0;
    }

    // Its logits, -infinity where there is no element.
    __device__ __forceinline__ void load(const SpreadRowsArguments &a, float (&x)[elements]) const {
        const T *const mine =
            static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.outer_stride + first;
        T raw[elements];
        if (a.on_boundaries) {
            const uint4 vector = count > 0 ? load_vector(mine) : uint4();
            memcpy(raw, &vector, sizeof(vector));
        } else {
#pragma unroll
            for (int i = 0; i < elements; ++i) {
                raw[i] = i < count ? mine[i] : T();
            }
        }
#pragma unroll
        for (int i = 0; i < elements; ++i) {
            x[i] = i < count ? widen(raw[i]) * a.narrow_scale : -std::numeric_limits<float>::infinity();
        }
    }

    __device__ __forceinline__ std::size_t place(const SpreadRowsArguments &a) const {
        return row * a.axis + static_cast<unsigned>(first);
    }

    __device__ __forceinline__ void store(const SpreadRowsArguments &a, const float *y) const {
        T *const mine = static_cast<T *>(a.output) + place(a);
        const uint4 vector = pack(y, T());
        if (a.on_boundaries) {
            store_vector_if(count > 0, mine, vector);
            return;
        }
        T narrow[elements];
        memcpy(narrow, &vector, sizeof(vector));
#pragma unroll
        for (int i = 0; i < elements; ++i) {
            if (i < count) {
                mine[i] = narrow[i];
            }
        }
    }

    // The outputs of a row that is not ordinary.
    __device__ __forceinline__ void fill(const SpreadRowsArguments &a, float value) const {
#pragma unroll 1
        for (int i = 0; i < count; ++i) {
            store_any(value, a.output_type, a.output, place(a) + static_cast<unsigned>(i));
        }
    }
};

// What the warps of a row's block tell each other.
template <class Sum>
struct SpreadRow {
    float maxima[most_spread_warps];
    Sum sums[most_spread_warps];
};

// What a row comes to, and the maximum of the tile that a lane's elements are in.
template <class Sum>
struct SpreadTotal {
    RowState<float, Sum> row;
    float tile_maximum;
};

// The exponentials of a lane's elements in the frame of their tile's maximum, and the tree over them.
template <class Sum, int Elements>
__device__ __forceinline__ Sum sum_of_run(float maximum, const float (&x)[Elements], float (&e)[Elements]) {
    const Frame<float> frame = frame_of(maximum);
#pragma unroll
    for (int i = 0; i < Elements; ++i) {
        e[i] = exponential_in(frame, x[i]);
    }
    return run_sum<Elements, Sum>(e);
}

template <class T, int Elements>
__device__ __forceinline__ auto total_of_lanes(int log_lanes, float largest, const float (&x)[Elements],
                                               float (&e)[Elements]) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    const int lanes = 1 << log_lanes;
    const float maximum =
        lanes == warp_lanes ? warp_maximum(largest) : tree_over_lanes<LargestWithNan<float>>(largest, lanes);
    const Sum sum = tree_over_lanes<FloatSum<Sum>>(sum_of_run<Sum>(maximum, x, e), lanes);
    return SpreadTotal<Sum>{{maximum, settle_block_sum(maximum, sum)}, maximum};
}

// The same of a block's row. A lane stands for the warp of its number, and where the row is one tile for others, too.
template <class T, int Elements>
__device__ __forceinline__ auto total_of_block(SpreadRow<typename SoftmaxArithmetic<T>::Sum> &shared, bool is_one_tile,
                                               float largest, const float (&x)[Elements], float (&e)[Elements]) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    constexpr int tile_warps = lane_elements / Elements;
    const int warp = warp_index(), of_warp = is_one_tile ? lane_index() % tile_warps : lane_index();
    const bool is_there = of_warp < static_cast<int>(blockDim.x / warp_lanes);
    const float maximum_of_warp = warp_maximum(largest);
    if (lane_index() == 0) {
        shared.maxima[warp] = maximum_of_warp;
    }
    __syncthreads();
    float of_tile = is_there ? shared.maxima[of_warp] : -std::numeric_limits<float>::infinity();
    const float of_row = warp_maximum(of_tile);
#pragma unroll
    for (int distance = 1; distance < tile_warps; distance *= 2) {
        of_tile = larger_with_nan(of_tile, from_lane_xor(of_tile, distance));
    }
    const float own = is_one_tile ? of_row : __shfl_sync(whole_warp, of_tile, warp);
    const Sum sum_of_warp = tree_over_lanes<FloatSum<Sum>>(sum_of_run<Sum>(own, x, e), warp_lanes);
    if (lane_index() == 0) {
        shared.sums[warp] = sum_of_warp;
    }
    __syncthreads();
    Sum sum = is_there ? shared.sums[of_warp] : Sum(0);
#pragma unroll
    for (int distance = 1; distance < tile_warps; distance *= 2) {
        sum = sum + from_lane_xor(sum, distance);
    }
    sum = settle_block_sum(of_tile, sum);
    if (!is_one_tile) {
        const bool is_absent = of_tile == -std::numeric_limits<float>::infinity();
        sum = scale_by_power(sum, is_absent ? beyond_any_sum : frame_gap(of_tile, of_row));
#pragma unroll
        for (int distance = tile_warps; distance < warp_lanes; distance *= 2) {
            sum = sum + from_lane_xor(sum, distance);
        }
    }
    return SpreadTotal<Sum>{{of_row, sum}, own};
}

template <class Sum>
__device__ __noinline__ BlockFactor<float> special_factor(float tile_maximum, RowState<float, Sum> row) {
    return block_factor(tile_maximum, row.maximum, row.sum);
}

// What the exponentials of a tile of an ordinary row are multiplied by.
template <class Sum>
__device__ __forceinline__ BlockFactor<float> factor_in_total(const SpreadTotal<Sum> &total) {
    if (is_ordinary(total.tile_maximum) && is_ordinary(total.row.maximum)) {
        const std::int32_t gap = nearest_exponent(total.tile_maximum) - nearest_exponent(total.row.maximum);
        return factor_of(factor_base(total.row.sum, float()), gap, float());
    }
    return special_factor(total.tile_maximum, total.row);
}

template <class T, bool Log, bool ByBlock>
__global__ void __launch_bounds__((ByBlock ? most_spread_warps : spread_block_warps) * warp_lanes)
    softmax_spread_rows(const __grid_constant__ SpreadRowsArguments a) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using Run = SpreadRun<T, ByBlock>;
    pdl_release(); // few as they are, the next kernel's find room
    bring_near(a);
    pdl_wait();
    const Run run(a);
    float x[Run::elements], e[Run::elements];
    run.load(a, x);
    float largest = x[0];
#pragma unroll
    for (int i = 1; i < Run::elements; ++i) {
        largest = larger_with_nan(largest, x[i]);
    }
    SpreadTotal<Sum> total;
    if constexpr (ByBlock) {
        __shared__ SpreadRow<Sum> shared;
        total = total_of_block<T>(shared, a.axis <= softmax_block, largest, x, e);
    } else {
        total = total_of_lanes<T>(a.log_lanes, largest, x, e);
    }
    const RowKind kind = row_kind(total.row.maximum);
    LogPieces<float> splits{total.row.maximum, 0}; // of rows that are not ordinary the logsumexp
    if ((Log || a.logsumexp != nullptr) && kind == RowKind::ordinary) {
        splits = row_logsumexp(total.row.maximum, total.row.sum);
    }
    if (a.output != nullptr && kind != RowKind::ordinary) {
        run.fill(a, special_output<float>(kind, Log, a.empty_row_zero));
    } else if (a.output != nullptr) {
        const BlockFactor<float> factor = Log ? BlockFactor<float>{0, 0} : factor_in_total(total);
#pragma unroll
        for (int i = 0; i < Run::elements; ++i) {
            e[i] = Log                          ? log_softmax_output(x[i], splits)
                   : sizeof(T) >= sizeof(float) ? softmax_output(e[i], factor)
                                                : softmax_narrow_output(e[i], factor);
        }
        run.store(a, e);
    }
    if (run.first != 0 || run.count <= 0) {
        return;
    }
    if (a.logsumexp != nullptr && a.logsumexp_type == ElementType::f32 && !is_nan(splits.high)) {
        static_cast<float *>(a.logsumexp)[run.row] = splits.high;
    } else if (a.logsumexp != nullptr && a.logsumexp_type == ElementTypeOf<T>::type && !is_nan(splits.high)) {
        static_cast<T *>(a.logsumexp)[run.row] = narrow_one(splits.high, T());
    } else if (a.logsumexp != nullptr) {
        store_any(splits.high, a.logsumexp_type, a.logsumexp, run.row);
    }
    if (a.maximum != nullptr) {
        store_maximum(total.row.maximum, a.maximum, run.row);
    }
}

template <class T>
const SpreadRowsKernels &spread_rows_kernels() {
    static const SpreadRowsKernels kernels = {
        {address_of(softmax_spread_rows<T, false, false>), address_of(softmax_spread_rows<T, true, false>)},
        {address_of(softmax_spread_rows<T, false, true>), address_of(softmax_spread_rows<T, true, true>)}};
    return kernels;
}

} // namespace wr::cuda
