// The gradient of softmax of rows of neighbouring elements: both inputs in the registers of a block's or a cluster's
// warps, each read once.
#pragma once

#include "cuda/common/alignment.h"
#include "cuda/common/tuning.h"
#include "cuda/device/dynamic_shared_memory.cuh"
#include "cuda/rowwise/cluster_sizes.h"
#include "cuda/softmax_backward/tile.cuh"

namespace wr::cuda {

// Warps that a multiprocessor should hold: as many as leave nothing, or little, spilled. f32 rows have 64 registers of
// elements, 16-bit ones 32, beside which the weights of their logits are deferred. (In registers those would be 48:
// bf16 of 50257 from logits 2050 us on an H100, deferred 1390.) Off the boundaries vectors are moved on their way, for
// which f32 rows have room beside 16 warps.
template <class T, Alignment Where>
inline constexpr int backward_persistent_warps = sizeof(T) == 2                ? 32
                                                 : Where == Alignment::element ? 16
                                                                               : 24;

// What a tile's gradients are multiplied by, and its part of what those of its row share, in every lane.
template <class T, int Warps, bool FromLogits>
__device__ __forceinline__ auto weights_of(const BackwardVectorArguments &a, const BackwardVectors<T> &saved,
                                           float logsumexp, const BackwardVectors<T> &gradients, int count,
                                           float &part) {
    if constexpr (FromLogits) {
        // All that is formed waits for the last load: else the compiler forms weights of one vector before it asks for
        // the next.
        __syncwarp();
        const SavedRow<float> row = saved_row(SavedAs::logits, a.log, a.scale, logsumexp, a.empty_row_zero);
        if constexpr (buffers_weights(sizeof(T), FromLogits, Warps)) {
            const auto deferred = BufferedWeights<T>::of_warp(launched_memory());
            part = buffer_tile(a, saved, row, count, deferred, gradients);
            return deferred;
        } else {
            FormedWeights<T> weights;
            weights.form(saved, row, count);
            part = block_total(a, weights, gradients);
            return weights;
        }
    } else {
        part = block_total(a, saved, gradients);
        return saved;
    }
}

// blockDim.y rows of up to `Warps` tiles a block, or a row by a cluster of a.cluster_blocks blocks.
template <class T, int Warps, bool FromLogits, Alignment Where = Alignment::vector>
__global__ void __launch_bounds__(Warps *warp_lanes, larger(backward_persistent_warps<T, Where> / Warps, 1))
    backward_vectors(const __grid_constant__ BackwardVectorArguments a) {
    static_assert(tuning::cluster_blocks * Warps <= most_cluster_states &&
                  tuning::wide_cluster_blocks * softmax_preferred_cluster_warps <= most_cluster_states);
    __shared__ RowSums sums;
    sums.prepare(a.cluster_blocks);
    take_place_on_stream();
    BackwardVectors<T> saved, gradients;
    const RowTile from(a.cluster_blocks);
    const bool is_there = from.row < a.rows;
    const int count = is_there ? from.count(a.axis) : 0;
    const float logsumexp = FromLogits && is_there ? a.logsumexp[from.row] : 0.0f;
    const T *const saved_from = from.in<T>(a.saved, a.outer_stride);
    const T *const gradients_from = from.in<T>(a.output_gradient, a.gradient_outer_stride);
    if constexpr (Where == Alignment::element) {
        // Both are asked for before either is moved, which waits for it (bf16 of 100003 1165 us, so 1076).
        VectorsAround<T> saved_around(saved_from, count, a.saved_hull);
        VectorsAround<T> gradients_around(gradients_from, count, a.gradient_hull);
        saved.realign(saved_around, count, minus_zeros<T>);
        gradients.realign(gradients_around, count, gradients_behind<T>(a));
    } else {
        saved.load(saved_from, count, minus_zeros<T>);
        gradients.load(gradients_from, count, gradients_behind<T>(a));
    }
    float part = 0;
    const auto weights = weights_of<T, Warps, FromLogits>(a, saved, logsumexp, gradients, count, part);
    const float total = sums.total(a.cluster_blocks, part);
    const RowTile to(a.cluster_blocks);
    T *const output = static_cast<T *>(a.input_gradient) + to.row * a.axis + to.first;
    const int left = to.row < a.rows ? to.count(a.axis) : 0;
    if constexpr (Where == Alignment::element) {
        write_gradients_anywhere<FromLogits>(a, output, left, weights, gradients, total);
    } else {
        write_gradients<FromLogits>(a, reinterpret_cast<uint4 *>(output) + lane_index(),
                                    left / vector_elements<T> - lane_index(), weights, gradients, total);
    }
}

} // namespace wr::cuda
