// The gradient of softmax: rows in the registers of a block's warps where they fit, read twice where they do not.
// Kernels are made for an arithmetic, and all else is known at run time.
#pragma once

#include "cuda/rowwise/strided_rows.cuh"
#include "cuda/softmax_backward/tile.cuh"
#include "numerics/saved_logarithms.h"

namespace wr::cuda::strided {

template <class Float>
__device__ __forceinline__ SavedRow<Float> saved_row_of(const SoftmaxBackwardProblem &p, std::size_t row) {
    const Float scale = scale_of_row<Float>(p, row);
    if (p.output != nullptr && p.logsumexp != nullptr) {
        return saved_logarithms(scale, static_cast<const Float *>(p.logsumexp)[row] != Float(0));
    }
    if (p.output != nullptr) {
        return saved_row(p.log ? SavedAs::logarithms : SavedAs::weights, p.log, scale, Float(0), p.empty_row_zero);
    }
    return saved_row(SavedAs::logits, p.log, scale, static_cast<const Float *>(p.logsumexp)[row], p.empty_row_zero);
}

__device__ __forceinline__ const void *saved_array(const SoftmaxBackwardProblem &p) {
    return p.output != nullptr ? p.output : p.input;
}

__device__ __forceinline__ std::ptrdiff_t saved_index(const SoftmaxBackwardProblem &p, const StridedRow &place,
                                                      std::size_t at) {
    return strided_index(place, p.selection.ragged, p.shape.outer_stride, p.shape.axis_stride, p.shape.inner_stride,
                         at);
}

__device__ __forceinline__ std::ptrdiff_t gradient_index(const SoftmaxBackwardProblem &p, const StridedRow &place,
                                                         std::size_t at) {
    return strided_index(place, p.selection.ragged, p.gradient_outer_stride, p.gradient_axis_stride,
                         p.gradient_inner_stride, at);
}

// What was saved becomes the weights that it stands for.
template <class Float, int N>
__device__ __forceinline__ void form_weights(const SavedRow<Float> &row, Float (&weights)[N]) {
    if (row.saved_as == SavedAs::logarithms) {
#pragma unroll
        for (int i = 0; i < N; ++i) {
            weights[i] = weight_of_any(weights[i], Float(0));
        }
    } else if (row.saved_as == SavedAs::logits) {
        const bool ordinary = row.logsumexp - row.logsumexp == Float(0);
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const LogitDifference<Float> less = logit_difference(row.scale, row.logsumexp, weights[i]);
            weights[i] = ordinary ? weight_of_any(less.high, less.low) : row.special;
        }
    }
}

// A tile of a row in a warp's registers.
template <class Float>
struct BackwardTile {
    Float weights[lane_elements], gradients[lane_elements];
    TakenElements taken;

    // What the block brings to the row's tree, in every lane.
    __device__ __forceinline__ Float load(const SoftmaxBackwardProblem &p, const StridedRow &place,
                                          const SavedRow<Float> &row, std::size_t begin) {
        taken = TakenElements(p.selection, place, begin);
        if (taken.none) {
            fill(weights, Float(-0.0));
            fill(gradients, Float(0));
            return Float(-0.0);
        }
        LoadedElements<Float> saved, of_outputs;
        saved.load(p.dtype, saved_array(p), saved_index(p, place, begin), p.shape.axis_stride, taken);
        of_outputs.load(p.output_gradient_dtype, p.output_gradient, gradient_index(p, place, begin),
                        p.gradient_axis_stride, taken);
        __syncwarp(); // all that is formed waits for the last load
        saved.widen_to(p.dtype, weights);
        of_outputs.widen_to(p.output_gradient_dtype, gradients);
        form_weights(row, weights);
        if (!taken.all) { // terms are -0 there: -0 times 0, or gradients of -0
            const Float behind = p.log ? Float(-0.0) : Float(0);
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                weights[i] = taken.has(i) ? weights[i] : Float(-0.0);
                gradients[i] = taken.has(i) ? gradients[i] : behind;
            }
        }
        // In the pairs of the exchange's first step, so that half as many terms wait in registers.
        constexpr int half = lane_elements / 2;
        Float sums[half];
#pragma unroll
        for (int i = 0; i < half; ++i) {
            sums[i] = exchange_pair<FloatSum<Float>, 0>(gradient_term(p.log, weights[i], gradients[i]),
                                                        gradient_term(p.log, weights[i + half], gradients[i + half]));
        }
        return warp_tree<FloatSum<Float>, 1>(sums);
    }

    __device__ __forceinline__ void write(const SoftmaxBackwardProblem &p, const StridedRow &place,
                                          const SavedRow<Float> &, std::size_t begin, Float, Float total) {
        const TakenElements present = elements_there(place, begin);
        if (present.none) {
            return;
        }
        form_gradients(p.log, p.empty_row_zero, scale_of_row<Float>(p, place.row), total);
        if (!taken.all) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                gradients[i] = taken.has(i) ? gradients[i] : Float(0);
            }
        }
        if (p.add_to_input_gradient) {
            Float before[lane_elements];
            load_written(p.input_gradient_dtype, p.input_gradient, place, begin, present, before);
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                gradients[i] = before[i] + gradients[i];
            }
        }
        store_elements(p.input_gradient_dtype, p.input_gradient, place, begin, present, gradients);
    }

  private:
    __device__ __forceinline__ void form_gradients(bool log, bool empty_row_zero, Float scale, Float total) {
        if (log) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                gradients[i] = softmax_gradient(true, weights[i], gradients[i], total);
            }
            if (empty_row_zero) {
#pragma unroll
                for (int i = 0; i < lane_elements; ++i) {
                    gradients[i] = unless_nothing_was_left(weights[i], gradients[i]);
                }
            }
        } else {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                gradients[i] = softmax_gradient(false, weights[i], gradients[i], total);
            }
        }
        if (scale != Float(1)) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                gradients[i] = gradients[i] * scale;
            }
        }
    }
};

// The gradient as an operation on rows.
template <class F>
struct StridedGradient {
    using Float = F;
    using Problem = SoftmaxBackwardProblem;
    using Partial = Float;
    using Stored = double;
    using Combine = FloatSum<Float>;
    using Tile = BackwardTile<Float>;
    using RowTotals = RowSums;
    using Row = SavedRow<Float>;

    // Two arrays wait for the row: as many as blocks of strided_row_warps may have (masked bf16 of 4096 2.48 TB/s on an
    // H200, with 96 2.25).
    static constexpr int whole_row_registers = 128;

    __device__ __forceinline__ static Row row(const Problem &p, std::size_t row) { return saved_row_of<Float>(p, row); }
    __device__ __forceinline__ static bool writes(const Problem &) { return true; }
    __device__ __forceinline__ static Partial over_lanes(Partial own) {
        return tree_over_lanes<Combine>(own, warp_lanes);
    }
    __device__ __forceinline__ static Stored stored(Partial own) { return static_cast<double>(own); }
    __device__ __forceinline__ static Partial loaded(Stored own) { return static_cast<Float>(own); }
    __device__ __forceinline__ static void finish(const Problem &, std::size_t, Partial) {}

    __device__ __forceinline__ static Partial total(const Stored *sums, std::size_t, std::size_t begin, std::size_t end,
                                                    int lanes) {
        TreeCounter<Combine, 40> counter;
        for (std::size_t split = begin; split < end; ++split) {
            counter.push(loaded(sums[split]));
        }
        return tree_over_lanes<Combine>(counter.result(), lanes);
    }
};

} // namespace wr::cuda::strided
