// Softmax of short columns of any kind, few side by side.
#pragma once

#include "cuda/rowwise/sub_warp_striped.cuh"
#include "cuda/softmax/sub_warp/vectors.cuh"

namespace wr::cuda {

// A tile's logits, scaled; -infinity in the place of those that take no part.
__device__ __forceinline__ void load_striped_logits(const SoftmaxProblem &p, const StripedTile &tile,
                                                    float (&x)[lane_slots]) {
    SlotPatterns patterns;
    patterns.load(tile, p.dtype, p.input, tile.taken);
    patterns.widen_to(p.dtype, x);
    const float scale = static_cast<float>(p.scale);
    tile.share_scales(p);
    tile.scale_rows(p, x);
#pragma unroll
    for (int i = 0; i < lane_slots; ++i) {
        x[i] = StripedTile::has(tile.taken, i) ? x[i] * scale : -std::numeric_limits<float>::infinity();
    }
}

// The exponentials of logits, each in the frame of its row, which the row's holders have.
__device__ __forceinline__ void form_striped_exponentials(const StripedTile &tile, const Frame<float> &frame,
                                                          const float (&x)[lane_slots], float (&e)[lane_slots]) {
    tile.share(frame.magic_less_n, frame.lowest, frame.shift);
#pragma unroll
    for (int i = 0; i < lane_slots; ++i) {
        e[i] = exponential_in(Frame<float>{tile.shared(0, i), tile.shared(2, i), tile.shared(1, i)}, x[i]);
    }
}

// The outputs of a tile's rows, in the place of their exponentials.
template <class Sum>
__device__ __forceinline__ void form_striped_outputs(const SoftmaxProblem &p, const StripedTile &tile,
                                                     const RowState<float, Sum> &total, const float (&x)[lane_slots],
                                                     float (&e)[lane_slots]) {
    const RowKind kind = row_kind(total.maximum);
    const bool ordinary = kind == RowKind::ordinary;
    if (p.log) {
        const LogPieces<float> splits = splits_of_row(total);
        tile.share(splits.high, splits.low);
#pragma unroll
        for (int i = 0; i < lane_slots; ++i) {
            e[i] = log_softmax_output(x[i], LogPieces<float>{tile.shared(0, i), tile.shared(1, i)});
        }
    } else {
        const BlockFactor<float> factor = factor_of_row(total);
        tile.share(factor.high, factor.low);
        const bool two_pieces = takes_two_pieces(p.output_dtype);
#pragma unroll
        for (int i = 0; i < lane_slots; ++i) {
            const BlockFactor<float> own{tile.shared(0, i), tile.shared(1, i)};
            e[i] = two_pieces ? softmax_output(e[i], own) : softmax_narrow_output(e[i], own);
        }
    }
    if (__any_sync(whole_warp, !ordinary) != 0) {
        tile.share(special_output<float>(kind, p.log, p.empty_row_zero),
                   left_out_output<float>(kind, p.log, p.empty_row_zero), ordinary ? 1.0f : 0.0f);
#pragma unroll
        for (int i = 0; i < lane_slots; ++i) {
            const float special = StripedTile::has(tile.taken, i) ? tile.shared(0, i) : tile.shared(1, i);
            e[i] = StripedTile::has(tile.present, i) && tile.shared(2, i) == 0.0f ? special : e[i];
        }
    }
}

// Blocks that a multiprocessor should hold.
inline constexpr int striped_softmax_blocks = 16 / striped_block_warps;

template <class Sum>
__global__ void __launch_bounds__(striped_block_warps *warp_lanes, striped_softmax_blocks)
    softmax_striped_rows(const __grid_constant__ StripedSoftmaxArguments a) {
    __shared__ SlotTable tables[striped_block_warps];
    pdl_wait_and_release();
    const SoftmaxProblem &p = a.problem;
    const StripedTile tile(p.shape, p.selection, a.rows, tables[warp_index()]);
    if (tile.rows == 0) {
        return;
    }
    float x[lane_slots], e[lane_slots];
    load_striped_logits(p, tile, x);
    const float maximum = tile.over_rows<LargestWithNan<float>>([&](int i) { return x[i]; });
    form_striped_exponentials(tile, frame_of(maximum), x, e);
    const Sum sum = tile.over_rows<FloatSum<Sum>>([&](int i) { return static_cast<Sum>(e[i]); });
    const RowState<float, Sum> total{maximum, settle_block_sum(maximum, sum)};
    if (p.output != nullptr) {
        form_striped_outputs(p, tile, total, x, e);
        store_slots(tile, p.output_dtype, p.output, e);
    }
    if (tile.is_first_holder()) {
        const std::size_t row = tile.first_row + static_cast<std::size_t>(tile.held_row());
        if (p.logsumexp != nullptr) {
            store_float(logsumexp_of(total.maximum, total.sum), p.logsumexp_dtype, p.logsumexp, row);
        }
        if (p.maximum != nullptr) {
            store_maximum(total.maximum, p.maximum, row);
        }
    }
}

} // namespace wr::cuda
