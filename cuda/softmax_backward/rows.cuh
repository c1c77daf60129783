// The gradient of softmax of rows of neighbouring elements: both inputs in the registers of a block's or a cluster's
// warps, each read once.
#pragma once

#include "cuda/common/gpu_facts.h"
#include "cuda/common/vectors.h"
#include "cuda/rowwise/row_plan.h"
#include "cuda/softmax_backward/tile.cuh"

namespace wr::cuda {

// Registers that leave nothing, or little, spilled: f32 rows have 64 of elements, 16-bit ones 32, beside which the
// weights of their logits are deferred. (In registers those would be 48: bf16 of 50257 from logits 2050 us on an H100,
// deferred 1390.)
template <class Part>
inline constexpr int backward_row_registers = Part::run == 1                                 ? 32
                                              : Part::tile < static_cast<int>(softmax_block) ? 64
                                              : sizeof(typename Part::T) == 2                ? 64
                                                                                             : 80;

// How many of a row's elements take part, but for those that the mask leaves out.
__device__ __forceinline__ std::size_t leading_of_row(const MaskedBackwardVectorArguments &a, std::size_t row,
                                                      std::size_t elements) {
    const Selection &s = a.selection;
    if (s.lengths != nullptr && row < a.rows) {
        elements = no_more_than(elements, s.lengths[row]);
    }
    if (s.causal) { // both terms of the sum are below 2^62
        const auto index = static_cast<std::uint32_t>(row) % static_cast<std::uint32_t>(s.causal_rows);
        elements = no_more_than(elements, s.causal_first + index);
    }
    return elements;
}

// blockDim.y rows a block, or a row by a cluster of a.cluster_blocks blocks.
template <class Part, bool FromLogits, Alignment Where, class Arguments>
__device__ __forceinline__ void do_backward_rows(const Arguments &a) {
    using T = typename Part::T;
    constexpr bool selects = std::is_same_v<Arguments, MaskedBackwardVectorArguments>;
    static_assert(tuning::cluster_blocks * backward_row_warps <= most_cluster_states &&
                  tuning::wide_cluster_blocks * softmax_preferred_cluster_warps <= most_cluster_states);
    __shared__ RowSums sums;
    sums.prepare(a.cluster_blocks);
    pdl_wait_and_release();
    BackwardElements<Part> saved, gradients;
    const RowTileOf<Part::tile> from(a.cluster_blocks);
    const bool is_there = from.row < a.rows;
    std::size_t elements = is_there ? a.axis : 0;
    if constexpr (selects) {
        elements = leading_of_row(a, from.row, elements);
    }
    const int count = from.count(elements);
    const float logsumexp = FromLogits && is_there ? a.logsumexp[from.row] : 0.0f;
    const T *const saved_from = from.template in<T>(a.saved, a.outer_stride);
    const T *const gradients_from = from.template in<T>(a.output_gradient, a.gradient_outer_stride);
    if constexpr (Where == Alignment::element) {
        // Both are asked for before either is moved, which waits for it (bf16 of 100003 1165 us, so 1076).
        VectorsAround<T> saved_around(saved_from, count, a.saved_range);
        VectorsAround<T> gradients_around(gradients_from, count, a.gradient_range);
        saved.realign(saved_around, count, minus_zeros<T>);
        gradients.realign(gradients_around, count, gradients_behind<T>(a));
    } else {
        saved.load(saved_from, count, minus_zeros<T>);
        gradients.load(gradients_from, count, gradients_behind<T>(a));
    }
    auto kept = [&] {
        if constexpr (selects) {
            const std::uint8_t *const mask = a.selection.mask;
            return KeptElements<Part>(mask == nullptr ? mask : mask + from.row * a.axis + from.first, count);
        } else {
            return AllElements();
        }
    }();
    if constexpr (!FromLogits) {
        saved.keep(kept, minus_zeros<T>);
    }
    gradients.keep(kept, gradients_behind<T>(a));
    kept.take_again();
    const SavedRow<float> row = saved_row(SavedAs::logits, a.log, a.scale, logsumexp, a.empty_row_zero);
    float part = 0;
    const auto weights = weights_of<BackwardWeights<Part, FromLogits, buffers_weights<Part>>>(
        a, saved, gradients, [&](int) { return row; },
        [&](int v) { return count - (v * warp_lanes + lane_index()) * Part::run; }, kept, TileTree<Part>(), part);
    const float total = sums.total(a.cluster_blocks, part);
    kept.take_again();
    const RowTileOf<Part::tile> to(a.cluster_blocks);
    T *const output = static_cast<T *>(a.input_gradient) + to.row * a.axis + to.first;
    const int left = to.row < a.rows ? to.count(a.axis) : 0;
    if constexpr (Where == Alignment::element) {
        write_gradients_anywhere<FromLogits>(a, output, left, weights, gradients, total);
    } else {
        write_gradients<FromLogits>(a, reinterpret_cast<typename Part::Access *>(output) + lane_index(),
                                    left / Part::run - lane_index(), weights, gradients, kept, total);
    }
}

template <class Part, bool FromLogits, Alignment Where = Alignment::vector>
__global__ void __maxnreg__((backward_row_registers<Part>))
    backward_vectors(const __grid_constant__ BackwardVectorArguments a) {
    do_backward_rows<Part, FromLogits, Where>(a);
}

// Of whole vectors, of which a mask or limits leave elements out.
template <class Part, bool FromLogits>
__global__ void __maxnreg__((backward_row_registers<Part>))
    backward_masked_vectors(const __grid_constant__ MaskedBackwardVectorArguments a) {
    do_backward_rows<Part, FromLogits, Alignment::vector>(a);
}

} // namespace wr::cuda
