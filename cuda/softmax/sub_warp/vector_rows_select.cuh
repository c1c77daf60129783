// What masks, lengths and the causal limit leave out of a warp's short rows, and what becomes of rows that are not
// ordinary there.
#pragma once

#include "cuda/rowwise/select.cuh"
#include "cuda/rowwise/sub_warp_vectors.cuh"

namespace wr::cuda {

// A row's logits one at a time, -infinity in the place of those that take no part.
template <class T>
struct MaskedRow {
    const MaskedRowsArguments &a;
    std::size_t first; // index of its first element
    int taken;

    __device__ __forceinline__ MaskedRow(const MaskedRowsArguments &arguments, std::uint64_t row)
        : a(arguments), first(row * arguments.axis), taken(static_cast<int>(taken_of_row(arguments, row))) {}

    __device__ __forceinline__ bool takes_part(int at) const {
        return at < taken && (a.mask == nullptr || a.mask[first + static_cast<std::size_t>(at)] != 0);
    }
    __device__ __forceinline__ float operator[](int at) const {
        if (!takes_part(at)) {
            return -std::numeric_limits<float>::infinity();
        }
        const auto x = static_cast<float>(widen(static_cast<const T *>(a.input)[first + static_cast<std::size_t>(at)]));
        return a.scaled ? x * a.narrow_scale : x;
    }
};

// Of a tile's rows those that hold large logits, +infinity or NaN, one after the other: `row_of_tile` where a lane says
// that it is rare. Their outputs go where the tile's are, in memory of any kind. Short code rather than quick.
template <class T>
__device__ __noinline__ void masked_rows_alone(const MaskedRowsArguments &a, std::uint64_t first_row, T *outputs,
                                               bool rare, int row_of_tile) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    const int axis = static_cast<int>(a.axis);
    __syncwarp(); // what other lanes have stored for these rows is stored again
#pragma unroll 1
    for (unsigned left = __ballot_sync(whole_warp, rare); left != 0; left &= left - 1) {
        const int of_lane = __shfl_sync(whole_warp, row_of_tile, __ffs(static_cast<int>(left)) - 1);
        const std::uint64_t row = first_row + static_cast<unsigned>(of_lane);
        const MaskedRow<T> x(a, row);
        float maximum = -std::numeric_limits<float>::infinity();
#pragma unroll 1
        for (int at = lane_index(); at < axis; at += warp_lanes) {
            maximum = larger_with_nan(maximum, x[at]);
        }
        maximum = warp_maximum(maximum);
        const Frame<float> frame = frame_of(maximum);
        TreeCounter<FloatSum<Sum>, 6> counter;
#pragma unroll 1
        for (int at = lane_index(); at - lane_index() < axis; at += warp_lanes) {
            const float e = at < axis ? exponential_in(frame, x[at]) : 0.0f;
            counter.push(tree_over_lanes<FloatSum<Sum>>(static_cast<Sum>(e), warp_lanes));
        }
        const RowState<float, Sum> total{maximum, settle_block_sum(maximum, counter.result())};
        const RowKind kind = row_kind(maximum);
        const bool ordinary = kind == RowKind::ordinary;
        const LogRow<float> log = a.log ? log_row(total) : LogRow<float>{};
        const BlockFactor<float> factor =
            ordinary ? block_factor(maximum, maximum, total.sum) : BlockFactor<float>{0, 0};
#pragma unroll 1
        for (int at = lane_index(); at < axis; at += warp_lanes) {
            const float e = a.log ? 0.0f : exponential_in(frame, x[at]);
            const float value = !ordinary ? x.takes_part(at) ? special_output<float>(kind, a.log, a.empty_row_zero)
                                                             : left_out_output<float>(kind, a.log, a.empty_row_zero)
                                : a.log ? log_softmax_output(x[at], log.splits)
                                : sizeof(T) >= 4 ? softmax_output(e, factor)
                                                 : softmax_narrow_output(e, factor);
            store_any(value, a.output_type, outputs, static_cast<std::size_t>(of_lane * axis + at));
        }
        if (lane_index() == 0) {
            store_row_values(a, total, row);
        }
    }
}

// Rows of which nothing takes part, or -infinity alone.
template <class T>
__device__ __noinline__ void store_empty_rows(const MaskedRowsArguments &a, std::uint64_t row, bool empty) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    const Float value = special_output<Float>(RowKind::empty, a.log, a.empty_row_zero);
    for (unsigned left = __ballot_sync(whole_warp, empty); left != 0; left &= left - 1) {
        const std::uint64_t of_lane = __shfl_sync(whole_warp, row, __ffs(static_cast<int>(left)) - 1);
        fill_any_outputs(a.output_type, a.output, of_lane * a.axis, a.axis, value);
    }
}

// What takes no part of a tile's rows becomes -infinity, once it is scaled.
template <class T>
__device__ __forceinline__ void leave_out_of_tile(const MaskedRowsArguments &a, const VectorRowsTile<T> &tile,
                                                  const WarpRows &rows, uint4 (&vectors)[lane_vectors<T>]) {
    using MaskBytes = std::conditional_t<sizeof(T) == 4, unsigned, uint2>;
    constexpr int each = vector_elements<T>;
    const bool negative_scale = a.scale < 0;
    const uint4 behind = filler_vector<T>(negative_scale);
    const int last = rows.count - 1;
    const int taken =
        static_cast<int>(taken_of_row(a, rows.first + static_cast<unsigned>(smaller(lane_index(), last))));
    if (a.mask != nullptr) {
        const auto *mask = reinterpret_cast<const MaskBytes *>(a.mask + rows.first * a.axis);
        MaskBytes bytes[lane_vectors<T>];
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            bytes[v] = mask[tile.sources[v]];
        }
        __syncwarp(); // so that all of the mask is asked for before any of it is waited for
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = without_masked(vectors[v], bytes[v], behind.x);
        }
    }
    if (a.lengths != nullptr || a.causal) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            const int row = smaller((v * warp_lanes + lane_index()) >> tile.shift, last);
            const int first = (static_cast<int>(tile.sources[v]) - row * tile.row_vectors) * each;
            vectors[v] = fill_from<T>(vectors[v], __shfl_sync(whole_warp, taken, row) - first, negative_scale);
        }
    }
}

} // namespace wr::cuda
