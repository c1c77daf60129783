// The gradient of softmax: rows in the registers of a block's warps where they fit, read twice where they do not.
// Kernels are made for an arithmetic, and all else is known at run time.
#pragma once

#include "cuda/rowwise/strided_access.cuh"
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
                                          const SavedRow<Float> &row, std::size_t begin, Float total) {
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

// The tree over the sums of a block's warps, in every lane of all of them.
template <class Float>
__device__ __forceinline__ Float add_warps(Float own, Float (&sums)[strided_block_warps]) {
    if (lane_index() == 0) {
        sums[warp_index()] = own;
    }
    __syncthreads();
    const bool there = lane_index() < static_cast<int>(blockDim.x) / warp_lanes;
    const Float mine = there ? sums[lane_index() % strided_block_warps] : Float(-0.0);
    const Float sum = tree_over_lanes<FloatSum<Float>>(mine, strided_block_warps);
    const Float all = __shfl_sync(whole_warp, sum, 0);
    __syncthreads();
    return all;
}

// Whole rows.
template <class Float>
__global__ void __launch_bounds__(strided_block_threads, strided_resident_blocks<Float>)
    backward_rows(const __grid_constant__ SoftmaxBackwardArguments a) {
    __shared__ Float sums[strided_block_warps];
    const SoftmaxBackwardProblem &p = a.problem;
    for_each_row(
        p.shape, p.selection, large_rows_for<Float>(a.longer), [&](const StridedRow &place, int warps, int warp) {
            const SavedRow<Float> saved = saved_row_of<Float>(p, place.row);
            const std::size_t step = static_cast<std::size_t>(warps) * softmax_block;
            const std::size_t own_begin = static_cast<std::size_t>(warp) * softmax_block;
            BackwardTile<Float> block;
            Float own = 0, total = 0;
            TreeCounter<FloatSum<Float>, 53> counter;
            for_each_step(
                place.count, step, true, [&](std::size_t done) { own = block.load(p, place, saved, done + own_begin); },
                [&](bool last) {
                    total = warps == 1 ? own : add_warps(own, sums);
                    if (place.count > step) {
                        counter.push(total);
                        total = last ? counter.result() : total;
                    }
                },
                [&](std::size_t done) { block.write(p, place, saved, done + own_begin, total); });
        });
}

// Rows of which each tile has a warp: blockDim.y rows a block, or a row by a cluster of a.cluster_blocks blocks.
template <class Float>
__global__ void __launch_bounds__(strided_row_warps *warp_lanes, 1)
    backward_whole_rows(const __grid_constant__ SoftmaxBackwardArguments a) {
    __shared__ RowSums sums;
    sums.prepare(a.cluster_blocks);
    pdl_wait_and_release();
    const SoftmaxBackwardProblem &p = a.problem;
    const RowTile own(a.cluster_blocks);
    const bool there = own.row < p.shape.outer;
    const StridedRow place = there ? row_place(p.shape, p.selection, own.row) : StridedRow{};
    const SavedRow<Float> saved = saved_row_of<Float>(p, place.row);
    const auto begin = static_cast<std::size_t>(own.first);
    BackwardTile<Float> block;
    const Float total = sums.total(a.cluster_blocks, block.load(p, place, saved, begin));
    block.write(p, place, saved, begin, total);
}

// nullptr: none of this arithmetic.
template <class Float>
const void *whole_rows_kernel() {
    if constexpr (sizeof(Float) == sizeof(float)) {
        return address_of(backward_whole_rows<Float>);
    }
    return nullptr;
}

// Pieces of strided_block_warps * a.tiles_a_warp tiles of long rows: their sums or, once the rows' totals are
// there, their gradients.
template <class Float>
__global__ void __launch_bounds__(strided_block_threads, strided_resident_blocks<Float>)
    backward_splits(const __grid_constant__ SoftmaxBackwardArguments a) {
    __shared__ Float sums[strided_block_warps];
    const SoftmaxBackwardProblem &p = a.problem;
    const std::size_t jobs = p.shape.outer * a.splits;
    for (std::size_t job = blockIdx.x; job < jobs; job += gridDim.x) {
        const StridedRow place = row_place(p.shape, p.selection, job / a.splits);
        const SavedRow<Float> saved = saved_row_of<Float>(p, place.row);
        const std::size_t first = (job % a.splits * strided_block_warps + static_cast<std::size_t>(warp_index())) *
                                  static_cast<std::size_t>(a.tiles_a_warp);
        Float mine = Float(-0.0);
#pragma unroll 1
        for (int b = 0; b < a.tiles_a_warp; ++b) {
            const std::size_t begin = (first + static_cast<std::size_t>(b)) * softmax_block;
            BackwardTile<Float> block;
            const Float sum = block.load(p, place, saved, begin);
            if (a.applies) {
                block.write(p, place, saved, begin, static_cast<Float>(a.totals[place.row]));
            } else if (lane_index() == b) {
                mine = sum;
            }
        }
        if (!a.applies) {
            const Float sum = add_warps(tree_over_lanes<FloatSum<Float>>(mine, warp_lanes), sums);
            if (threadIdx.x == 0) {
                a.sums[job] = static_cast<double>(sum);
            }
        }
    }
}

// The totals of rows from the sums of their splits.
template <class Float>
__global__ void __launch_bounds__(strided_block_threads)
    backward_totals(const __grid_constant__ SoftmaxBackwardArguments a) {
    pdl_wait();
    const std::size_t rows = a.problem.shape.outer * a.problem.shape.inner;
    for_each_total(rows, a.splits, [&](std::size_t row, std::size_t begin, std::size_t end, int lanes, bool first) {
        TreeCounter<FloatSum<Float>, 40> counter;
        for (std::size_t split = begin; split < end; ++split) {
            counter.push(static_cast<Float>(a.sums[row * a.splits + split]));
        }
        const Float sum = tree_over_lanes<FloatSum<Float>>(counter.result(), lanes);
        if (first) {
            a.totals[row] = static_cast<double>(sum);
        }
    });
}

} // namespace wr::cuda::strided
