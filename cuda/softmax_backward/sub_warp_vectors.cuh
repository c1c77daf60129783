// The gradient of softmax of short rows of whole vectors, one behind the other: a warp holds as many as its 1024
// elements have room for, and the exchange yields the sums of all of them at once.
#pragma once

#include "cuda/rowwise/sub_warp_vectors.cuh"
#include "cuda/softmax_backward/tile.cuh"

namespace wr::cuda {

// Registers that leave so many warps room on a multiprocessor (f32 with 24: 4.19 TB/s on an H200 for 4.32, from logits
// 3.75 for 4.27).
template <class T>
inline constexpr int vector_rows_backward_blocks = (sizeof(T) == 4 ? 20 : 32) / short_row_warps;

// A tile's vectors; what stands behind the end of a row is `behind` over and over.
template <class T>
__device__ __forceinline__ BackwardVectors<T> load_packed(const VectorRowsTile<T> &tile, const T *data,
                                                          unsigned behind) {
    BackwardVectors<T> loaded;
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        loaded.vectors[v] = uint4{behind, behind, behind, behind};
        if (tile.filled(v)) {
            loaded.vectors[v] = load_vector(reinterpret_cast<const uint4 *>(data) + tile.sources[v]);
        }
    }
    return loaded;
}

// The natural tree over each row, of which a lane's vectors v and v + half come to pairs[v] once they are exchanged, in
// the lanes that hold the row.
template <class T, int Half>
__device__ __forceinline__ float tree_of_pairs(const VectorRowsTile<T> &tile, float (&pairs)[Half]) {
    exchange_halves<FloatSum<float>, VectorRowsTile<T>::steps, 1>(pairs);
    return tile.template over_row<FloatSum<float>>(pairs[0]);
}

// The same over term(i).
template <class T, class Term>
__device__ __forceinline__ float packed_tree(const VectorRowsTile<T> &tile, Term term) {
    constexpr int each = vector_elements<T>, half = lane_vectors<T> / 2;
    float pairs[half];
#pragma unroll
    for (int v = 0; v < half; ++v) {
        float low[each], high[each];
#pragma unroll
        for (int i = 0; i < each; ++i) {
            low[i] = term(v * each + i);
            high[i] = term((v + half) * each + i);
        }
        pairs[v] = exchange_pair<FloatSum<float>, 0>(run_sum<each, float>(low), run_sum<each, float>(high));
    }
    return tree_of_pairs(tile, pairs);
}

template <class T, class Weights>
__device__ __forceinline__ float packed_total(const BackwardVectorArguments &a, const VectorRowsTile<T> &tile,
                                              const Weights &weights, const BackwardVectors<T> &gradients) {
    return a.log ? packed_tree(tile, [&](int i) { return gradients[i]; })
                 : packed_tree(tile, [&](int i) { return weights[i] * gradients[i]; });
}

// The same of weights that are formed of logits and deferred. of_row(v): what vector v's row is.
template <class T, class OfRow>
__device__ __forceinline__ float buffer_pair(const BackwardVectorArguments &a, const VectorRowsTile<T> &tile,
                                             const BackwardVectors<T> &logits, OfRow of_row,
                                             const BufferedWeights<T> &deferred, const BackwardVectors<T> &gradients) {
    constexpr int run = VectorLoad<T>::run;
    float sums[lane_vectors<T>], pairs[lane_vectors<T> / 2];
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        float weights[run];
        deferred.form(logits, of_row(v), v, tile.filled(v) ? run : 0, weights);
        sums[v] = vector_sum(a, v, weights, gradients);
    }
    exchange_vectors(sums, pairs);
    return tree_of_pairs(tile, pairs);
}

// What the gradients are multiplied by, and the rows' totals, in the lanes that hold them. Lane r's logsumexp is that
// of the tile's row number r.
template <bool FromLogits, class T>
__device__ __forceinline__ auto packed_weights(const BackwardVectorArguments &a, const VectorRowsTile<T> &tile,
                                               const BackwardVectors<T> &saved, float logsumexp,
                                               const BackwardVectors<T> &gradients, float &total) {
    if constexpr (FromLogits) {
        const auto of_row = [&](int v) {
            const float own = __shfl_sync(whole_warp, logsumexp, tile.row_of(v));
            return saved_row(SavedAs::logits, a.log, a.scale, own, a.empty_row_zero);
        };
        __syncwarp(); // all that is formed waits for the last load
        if constexpr (buffers_weights(sizeof(T), FromLogits, short_row_warps)) {
            __shared__ float4 memory[short_row_warps * backward_buffer_bytes / sizeof(float4)];
            const auto deferred = BufferedWeights<T>::of_warp(reinterpret_cast<unsigned char *>(memory));
            total = buffer_pair(a, tile, saved, of_row, deferred, gradients);
            return deferred;
        } else {
            FormedWeights<T> weights;
#pragma unroll
            for (int v = 0; v < lane_vectors<T>; ++v) {
                weights.form_vector(saved, of_row(v), v, tile.filled(v));
            }
            total = packed_total(a, tile, weights, gradients);
            return weights;
        }
    } else {
        total = packed_total(a, tile, saved, gradients);
        return saved;
    }
}

template <class T, bool FromLogits>
__global__ void __launch_bounds__(short_row_warps *warp_lanes, vector_rows_backward_blocks<T>)
    backward_sub_warp_vectors(const __grid_constant__ BackwardVectorArguments a) {
    take_place_on_stream();
    const int shift = 31 - __clz(a.row_lanes), rows_a_tile = (lane_vectors<T> * warp_lanes) >> shift;
    const WarpRows from(a.rows, rows_a_tile);
    if (from.count == 0) {
        return;
    }
    const VectorRowsTile<T> tile(a, shift, from.count);
    const std::size_t first = from.first * static_cast<std::uint32_t>(a.axis);
    const auto saved = load_packed(tile, static_cast<const T *>(a.saved) + first, minus_zeros<T>);
    const auto gradients = load_packed(tile, static_cast<const T *>(a.output_gradient) + first, gradients_behind<T>(a));
    float logsumexp = 0;
    if (FromLogits && lane_index() < from.count) {
        logsumexp = a.logsumexp[from.first + static_cast<unsigned>(lane_index())];
    }
    float total = 0;
    const auto weights = packed_weights<FromLogits>(a, tile, saved, logsumexp, gradients, total);
    const WarpRows to(a.rows, rows_a_tile);
    auto *const output =
        reinterpret_cast<uint4 *>(static_cast<T *>(a.input_gradient) + to.first * static_cast<std::uint32_t>(a.axis));
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        const float own = __shfl_sync(whole_warp, total, tile.holder_of(v));
        store_vector_if(tile.filled(v), output + tile.sources[v],
                        gradient_vector<FromLogits>(a, v, weights, gradients, own));
    }
}

} // namespace wr::cuda
