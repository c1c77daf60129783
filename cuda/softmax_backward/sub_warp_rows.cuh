// The gradient of softmax of short rows, one behind the other: a warp holds as many as its accesses have room for, and
// the exchange yields the sums of all of them at once.
#pragma once

#include "cuda/softmax_backward/tile.cuh"

namespace wr::cuda {

// Warps that a multiprocessor has room for by their registers.
inline constexpr int sub_warp_backward_warps = 32;

// Where a warp's rows lie: each has a power of two of slots, of one access each, of which slot 32 v + l is access v of
// lane l. What has no register is computed again wherever it is wanted.
template <class Part>
struct SubWarpRows {
    static constexpr int accesses = Part::accesses, steps = log2_of(accesses);
    int shift;       // log2 of a row's slots
    int spare;       // slots behind a row's last access
    unsigned filled; // a bit an access: whether there is one

    __device__ __forceinline__ SubWarpRows(const BackwardVectorArguments &a, int row_shift, int rows)
        : shift(row_shift), spare((1 << row_shift) - static_cast<int>(a.axis) / Part::run), filled(0) {
        const int slots = 1 << shift;
#pragma unroll
        for (int v = 0; v < accesses; ++v) {
            const int slot = v * warp_lanes + lane_index();
            filled |= (slot & (slots - 1)) < slots - spare && slot < rows << shift ? 1u << v : 0u;
        }
    }

    __device__ __forceinline__ bool has(int v) const { return (filled >> v & 1) != 0; }
    __device__ __forceinline__ int row_of(int v) const { return (v * warp_lanes + lane_index()) >> shift; }
    // From the first row's first access on.
    __device__ __forceinline__ unsigned place_of(int v) const {
        return static_cast<unsigned>(v * warp_lanes + lane_index() - row_of(v) * spare);
    }

    __device__ __forceinline__ void load(const typename Part::T *data, unsigned behind,
                                         BackwardElements<Part> &loaded) const {
#pragma unroll
        for (int v = 0; v < accesses; ++v) {
            fill_access(loaded.of[v], behind);
            if (has(v)) {
                loaded.of[v] = reinterpret_cast<const typename Part::Access *>(data)[place_of(v)];
            }
        }
    }

    // The natural tree over each row, in the lanes that hold it.
    template <class SumOf>
    __device__ __forceinline__ float operator()(SumOf sum_of) const {
        float sum = 0;
        if constexpr (accesses == 1) {
            sum = sum_of(0);
        } else {
            float pairs[accesses / 2];
            exchange_sums<Part>(sum_of, pairs);
            exchange_halves<FloatSum<float>, steps, 1>(pairs);
            sum = pairs[0];
        }
#pragma unroll
        for (int level = steps; level < 5 + steps; ++level) {
            if (level < shift) {
                sum = sum + from_lane_xor(sum, distance_of_level<accesses>(level));
            }
        }
        return sum;
    }

    // Access v's row's, of which the lanes that hold it have `total`.
    __device__ __forceinline__ static float total_of_row(float total, int v) {
        const int holder = (lane_index() & ~(accesses - 1)) | exchanged_register<steps, accesses>(v);
        return __shfl_sync(whole_warp, total, holder);
    }
};

template <class Part, bool FromLogits>
__global__ void __launch_bounds__(short_row_warps *warp_lanes, sub_warp_backward_warps / short_row_warps)
    backward_sub_warp_rows(const __grid_constant__ BackwardVectorArguments a) {
    using T = typename Part::T;
    pdl_wait_and_release();
    const int shift = 31 - __clz(a.row_lanes), rows_a_tile = (Part::accesses * warp_lanes) >> shift;
    const WarpRows from(a.rows, rows_a_tile);
    if (from.count == 0) {
        return;
    }
    const SubWarpRows<Part> rows(a, shift, from.count);
    const std::size_t first = from.first * static_cast<std::uint32_t>(a.axis);
    BackwardElements<Part> saved, gradients;
    rows.load(static_cast<const T *>(a.saved) + first, minus_zeros<T>, saved);
    rows.load(static_cast<const T *>(a.output_gradient) + first, gradients_behind<T>(a), gradients);
    float logsumexp = 0; // of the tile's row number lane_index()
    if (FromLogits && lane_index() < from.count) {
        logsumexp = a.logsumexp[from.first + static_cast<unsigned>(lane_index())];
    }
    float total = 0;
    const auto weights = weights_of<BackwardWeights<Part, FromLogits>>(
        a, saved, gradients,
        [&](int v) {
            const float own = __shfl_sync(whole_warp, logsumexp, rows.row_of(v));
            return saved_row(SavedAs::logits, a.log, a.scale, own, a.empty_row_zero);
        },
        [&](int v) { return rows.has(v) ? Part::run : 0; }, AllElements(), rows, total);
    const WarpRows to(a.rows, rows_a_tile);
    auto *const output = reinterpret_cast<typename Part::Access *>(static_cast<T *>(a.input_gradient) +
                                                                   to.first * static_cast<std::uint32_t>(a.axis));
#pragma unroll
    for (int v = 0; v < Part::accesses; ++v) {
        const float own = rows.total_of_row(total, v);
        store_access_if(rows.has(v), output + rows.place_of(v),
                        gradients_of<FromLogits>(a, v, weights, gradients, OneForAll{own}));
    }
}

} // namespace wr::cuda
