// Softmax of short rows of neighbouring elements, of any kind otherwise.
#pragma once

#include "cuda/rowwise/sub_warp_blocked.cuh"
#include "cuda/softmax/sub_warp/vectors.cuh"

namespace wr::cuda {

// A row's outputs from its logits, or from their exponentials where these are not what is wanted.
template <class Sum>
__device__ __forceinline__ void form_run_outputs(const SoftmaxProblem &p, const BlockedTile &tile,
                                                 const RowState<float, Sum> &total,
                                                 float (&values)[blocked_run_elements]) {
    const RowKind kind = row_kind(total.maximum);
    const bool ordinary = kind == RowKind::ordinary;
    if (p.log) {
        const LogPieces<float> splits = splits_of_row(total);
        tile.for_each_element([&](int i) { values[i] = log_softmax_output(values[i], splits); });
    } else {
        const BlockFactor<float> factor = factor_of_row(total);
        const bool two_pieces = takes_two_pieces(p.output_dtype);
        tile.for_each_element([&](int i) {
            values[i] = two_pieces ? softmax_output(values[i], factor) : softmax_narrow_output(values[i], factor);
        });
    }
    if (__any_sync(whole_warp, !ordinary) != 0) {
        const float special = special_output<float>(kind, p.log, p.empty_row_zero);
        const float left_out = left_out_output<float>(kind, p.log, p.empty_row_zero);
        tile.for_each_element([&](int i) { values[i] = ordinary ? values[i] : tile.has(i) ? special : left_out; });
    }
}

inline constexpr int run_softmax_blocks = 24 / striped_block_warps; // that a multiprocessor should hold

template <class Sum>
__global__ void __launch_bounds__(striped_block_warps *warp_lanes, run_softmax_blocks)
    softmax_blocked_rows(const __grid_constant__ StripedSoftmaxArguments a) {
    __shared__ RunBuffer buffers[striped_block_warps];
    pdl_wait_and_release();
    const SoftmaxProblem &p = a.problem;
    const BlockedTile tile(p.shape, p.selection, a.rows.log_registers, buffers[warp_index()]);
    if (tile.is_empty()) {
        return;
    }
    tile.ask_for(p.dtype, p.input);
    tile.read(p.dtype, p.input);
    const float scale = scale_of_row<float>(p, tile.present != 0 ? tile.row : 0);
    float values[blocked_run_elements];
#pragma unroll
    for (int i = 0; i < blocked_run_elements; ++i) {
        values[i] = -std::numeric_limits<float>::infinity();
    }
    float maximum = -std::numeric_limits<float>::infinity();
    tile.for_each_element([&](int i) {
        values[i] = tile.has(i) ? tile.element(i) * scale : values[i];
        maximum = larger_with_nan(maximum, values[i]);
    });
    maximum = tile.over_row<LargestWithNan<float>>(maximum);
    const Frame<float> frame = frame_of(maximum);
    const Sum sum = tile.tree<FloatSum<Sum>>(Sum(0), [&](int i) {
        const float e = exponential_in(frame, values[i]);
        values[i] = p.log ? values[i] : e;
        return static_cast<Sum>(e);
    });
    const RowState<float, Sum> total{maximum, settle_block_sum(maximum, sum)};
    if (p.output != nullptr) {
        form_run_outputs(p, tile, total, values);
        __syncwarp(); // lanes have read beyond their own elements
        tile.for_each_element([&](int i) { tile.set_element(i, values[i]); });
        tile.write(p.output_dtype, p.output);
    }
    if (tile.is_first_of_row) {
        if (p.logsumexp != nullptr) {
            store_float(logsumexp_of(total.maximum, total.sum), p.logsumexp_dtype, p.logsumexp, tile.row);
        }
        if (p.maximum != nullptr) {
            store_maximum(total.maximum, p.maximum, tile.row);
        }
    }
}

} // namespace wr::cuda
