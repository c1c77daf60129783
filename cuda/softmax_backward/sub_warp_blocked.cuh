// The gradient of softmax of short ragged rows.
#pragma once

#include "cuda/rowwise/sub_warp_blocked.cuh"
#include "cuda/softmax_backward/tile.cuh"

namespace wr::cuda {

// What stands for this lane's elements in the row's tree and in the results; 0 where they take no part. Logits become
// the weights that they stand for.
__device__ __forceinline__ void form_run_weights(const SoftmaxBackwardProblem &p, const BlockedTile &tile,
                                                 float (&weights)[blocked_run_elements]) {
    tile.for_each_element([&](int i) { weights[i] = tile.has(i) ? tile.element(i) : 0.0f; });
    if (p.output != nullptr) {
        return;
    }
    const float scale = scale_of_row<float>(p, tile.present != 0 ? tile.row : 0);
    const float logsumexp = tile.present != 0 ? static_cast<const float *>(p.logsumexp)[tile.row] : 0.0f;
    tile.for_each_element([&](int i) {
        const LogitDifference<float> less = logit_difference(scale, logsumexp, weights[i]);
        weights[i] = weight_of_any(less.high, less.low);
    });
    if (__any_sync(whole_warp, logsumexp - logsumexp != 0.0f) != 0) {
        const float special = saved_row(SavedAs::logits, p.log, scale, logsumexp, p.empty_row_zero).special;
        tile.for_each_element([&](int i) { weights[i] = logsumexp - logsumexp != 0.0f ? special : weights[i]; });
    }
}

// The inputs' gradients, in the place of the weights.
__device__ __forceinline__ void form_run_results(const SoftmaxBackwardProblem &p, const BlockedTile &tile, float total,
                                                 float (&weights)[blocked_run_elements]) {
    const float scale = scale_of_row<float>(p, tile.present != 0 ? tile.row : 0);
    const bool are_logarithms = p.log && p.output != nullptr;
    tile.for_each_element([&](int i) {
        const float weight = are_logarithms ? weight_of_any(weights[i], 0.0f) : weights[i];
        float result = softmax_gradient(p.log, weight, tile.element(i, 1), total);
        if (p.log && p.empty_row_zero) {
            result = unless_nothing_was_left(weight, result);
        }
        weights[i] = tile.has(i) ? result * scale : 0.0f;
    });
    if (p.add_to_input_gradient) {
        __syncwarp(); // what has been read from the buffer gives way
        tile.read(p.input_gradient_dtype, p.input_gradient);
        tile.for_each_element([&](int i) { weights[i] = tile.element(i) + weights[i]; });
    }
}

inline constexpr int run_backward_blocks = 20 / striped_block_warps; // that a multiprocessor should hold

__global__ void __launch_bounds__(striped_block_warps *warp_lanes, run_backward_blocks)
    softmax_blocked_backward(const __grid_constant__ StripedBackwardArguments a) {
    __shared__ RunBuffer buffers[striped_block_warps][2];
    pdl_wait_and_release();
    const SoftmaxBackwardProblem &p = a.problem;
    const BlockedTile tile(p.shape, p.selection, a.rows.log_registers, buffers[warp_index()][0]);
    if (tile.is_empty()) {
        return;
    }
    const void *saved = p.output != nullptr ? p.output : p.input;
    tile.ask_for(p.dtype, saved);
    tile.ask_for(p.output_gradient_dtype, p.output_gradient);
    tile.read(p.dtype, saved);
    tile.read(p.output_gradient_dtype, p.output_gradient, 1);
    float weights[blocked_run_elements];
    form_run_weights(p, tile, weights);
    const float total = tile.tree<FloatSum<float>>(
        -0.0f, [&](int i) { return tile.has(i) ? gradient_term(p.log, weights[i], tile.element(i, 1)) : -0.0f; });
    form_run_results(p, tile, total, weights);
    __syncwarp(); // lanes have read beyond their own elements
    tile.for_each_element([&](int i) { tile.set_element(i, weights[i]); });
    tile.write(p.input_gradient_dtype, p.input_gradient);
}

} // namespace wr::cuda
