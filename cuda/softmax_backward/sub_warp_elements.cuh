// The gradient of softmax of short rows of any kind.
#pragma once

#include "cuda/rowwise/sub_warp_elements.cuh"
#include "cuda/softmax_backward/tile.cuh"

namespace wr::cuda {

// Logits become the weights that they stand for, by the logsumexp of register i's row, which lane i has.
__device__ __forceinline__ void form_striped_weights(const SoftmaxBackwardProblem &p, const StripedTile &tile,
                                                     float logsumexp, float (&weights)[lane_slots]) {
    const float scale = static_cast<float>(p.scale);
    tile.table.values[0][lane_index()] = logsumexp;
    __syncwarp();
    tile.scale_rows(p, weights);
#pragma unroll
    for (int i = 0; i < lane_slots; ++i) {
        const float own = tile.shared(0, i);
        const LogitDifference<float> less = logit_difference(scale, own, weights[i]);
        weights[i] = weight_of_any(less.high, less.low);
    }
    if (__any_sync(whole_warp, logsumexp - logsumexp != 0.0f) != 0) {
#pragma unroll
        for (int i = 0; i < lane_slots; ++i) {
            const float own = tile.shared(0, i);
            if (own - own != 0.0f) {
                const float of_row = p.scales != nullptr ? tile.shared(1, i) : scale;
                weights[i] = saved_row(SavedAs::logits, p.log, of_row, own, p.empty_row_zero).special;
            }
        }
    }
}

// What is to be read of a tile, into weights and gradients.
__device__ __forceinline__ void load_striped_gradients(const SoftmaxBackwardProblem &p, const StripedTile &tile,
                                                       float (&weights)[lane_slots], float (&gradients)[lane_slots]) {
    const bool from_logits = p.output == nullptr;
    SlotPatterns saved, of_outputs;
    saved.load(tile, p.dtype, from_logits ? p.input : p.output, tile.taken);
    of_outputs.load(tile, p.output_gradient_dtype, p.output_gradient, tile.taken);
    float logsumexp = 0;
    const int row = tile.row_of(lane_index());
    if (from_logits && row < tile.rows) {
        logsumexp = static_cast<const float *>(p.logsumexp)[tile.first_row + static_cast<std::size_t>(row)];
    }
    __syncwarp(); // all that is formed waits for the last load
    saved.widen_to(p.dtype, weights);
    of_outputs.widen_to(p.output_gradient_dtype, gradients);
    tile.share_scales(p);
    if (from_logits) {
        form_striped_weights(p, tile, logsumexp, weights);
    }
}

// The inputs' gradients, in the place of the outputs'.
__device__ __forceinline__ void form_striped_results(const SoftmaxBackwardProblem &p, const StripedTile &tile,
                                                     float total, const float (&weights)[lane_slots],
                                                     float (&gradients)[lane_slots]) {
    const float scale = static_cast<float>(p.scale);
    tile.share(total);
    const bool are_logarithms = p.log && p.output != nullptr;
#pragma unroll
    for (int i = 0; i < lane_slots; ++i) {
        const float weight = are_logarithms ? weight_of_any(weights[i], 0.0f) : weights[i];
        gradients[i] = softmax_gradient(p.log, weight, gradients[i], tile.shared(0, i));
    }
    if (p.log && p.empty_row_zero) {
#pragma unroll
        for (int i = 0; i < lane_slots; ++i) {
            gradients[i] = are_logarithms ? gradients[i] : unless_nothing_was_left(weights[i], gradients[i]);
        }
    }
    tile.scale_rows(p, gradients);
#pragma unroll
    for (int i = 0; i < lane_slots; ++i) {
        gradients[i] = StripedTile::has(tile.taken, i) ? gradients[i] * scale : 0.0f;
    }
    if (p.add_to_input_gradient) {
        SlotPatterns before;
        float old[lane_slots];
        before.load(tile, p.input_gradient_dtype, p.input_gradient, tile.present);
        before.widen_to(p.input_gradient_dtype, old);
#pragma unroll
        for (int i = 0; i < lane_slots; ++i) {
            gradients[i] = old[i] + gradients[i];
        }
    }
}

// Blocks that a multiprocessor should hold.
inline constexpr int striped_backward_blocks = 16 / striped_block_warps;

__global__ void __launch_bounds__(striped_block_warps *warp_lanes, striped_backward_blocks)
    softmax_striped_backward(const __grid_constant__ StripedBackwardArguments a) {
    __shared__ SlotTable tables[striped_block_warps];
    pdl_wait_and_release();
    const SoftmaxBackwardProblem &p = a.problem;
    const StripedTile tile(p.shape, p.selection, a.rows, tables[warp_index()]);
    if (tile.rows == 0) {
        return;
    }
    float weights[lane_slots], gradients[lane_slots];
    load_striped_gradients(p, tile, weights, gradients);
    const float total = tile.over_rows<FloatSum<float>>([&](int i) {
        return StripedTile::has(tile.taken, i) ? gradient_term(p.log, weights[i], gradients[i]) : -0.0f;
    });
    form_striped_results(p, tile, total, weights, gradients);
    store_slots(tile, p.input_gradient_dtype, p.input_gradient, gradients);
}

// The gradient of softmax of short ragged rows.

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
