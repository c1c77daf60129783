// The gradient of softmax: rows in the registers of a block's warps where they fit, read twice where they do not.
// Kernels are made for an arithmetic, and all else is known at run time.
#include "cuda/rowwise/strided.cuh"
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

// The gradient of softmax of columns with every option: of up to some hundred elements in the registers of the threads
// that share one, of more by threads that walk them.

// The weights of a run and the gradients of its outputs; of what takes no part they say nothing.
template <class Float, int Elements>
struct RunGradients {
    static constexpr int N = Elements;
    using Totals = ColumnExchange<Float>;
    Float weights[N], gradients[N];

    __device__ __forceinline__ void load(const SoftmaxBackwardProblem &p, const ColumnRun &run,
                                         const SavedRow<Float> &row, int first, int count, unsigned) {
        const Shape &s = p.shape;
        const unsigned allowed = run.allowed<N>(first);
        load_run(p.dtype, saved_array(p), run.index(s.outer_stride, s.axis_stride, s.inner_stride, first),
                 s.axis_stride, allowed, count, weights);
        load_run(p.output_gradient_dtype, p.output_gradient,
                 run.index(p.gradient_outer_stride, p.gradient_axis_stride, p.gradient_inner_stride, first),
                 p.gradient_axis_stride, allowed, count, gradients);
        form_weights(row, weights);
    }

    // The natural tree over what they bring to the row's.
    __device__ __forceinline__ Float sum(bool log, unsigned taken) const {
        Float terms[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            const Float term = gradient_term(log, weights[i], gradients[i]);
            terms[i] = has_bit(taken, i) ? term : FloatSum<Float>::identity();
        }
        return run_sum<N, Float>(terms);
    }

    // The same over all of a column's threads.
    __device__ __forceinline__ Float total(const SoftmaxBackwardProblem &p, const HeldPlace &at, int, unsigned taken,
                                           Totals &totals) const {
        return totals.over_column(at, sum(p.log, taken), [](Float x, Float y) { return x + y; });
    }

    __device__ __forceinline__ void write(const SoftmaxBackwardProblem &p, const ColumnRun &run,
                                          const SavedRow<Float> &, int first, int count, unsigned taken, Float total) {
        const std::size_t index = run.output_index(first), stride = run.place.first_stride;
        const unsigned present = run.present<N>(first);
        const Float scale = scale_of_row<Float>(p, run.place.row);
        Float y[N];
#pragma unroll
        for (int i = 0; i < N; ++i) {
            Float gradient = softmax_gradient(p.log, weights[i], gradients[i], total);
            if (p.log && p.empty_row_zero) {
                gradient = unless_nothing_was_left(weights[i], gradient);
            }
            y[i] = has_bit(taken, i) ? gradient * scale : Float(0);
        }
        if (p.add_to_input_gradient) {
            Float before[N];
            load_written_run(p.input_gradient_dtype, p.input_gradient, index, stride, present, count, before);
#pragma unroll
            for (int i = 0; i < N; ++i) {
                y[i] = before[i] + y[i];
            }
        }
        store_run(p.input_gradient_dtype, p.input_gradient, index, stride, present, count, y);
    }
};

// A tile of a column that a thread walks, a step at a time.
template <class Float>
struct LoopedGradients {
    static constexpr int step = walk_step;
    const SoftmaxBackwardProblem &p;
    const ColumnRun &run;
    SavedRow<Float> row;
    RunGradients<Float, step> of;
    unsigned taken = 0;
    int held = -1; // the step's first element

    __device__ __forceinline__ LoopedGradients(const SoftmaxBackwardProblem &problem, const ColumnRun &walked)
        : p(problem), run(walked), row(saved_row_of<Float>(problem, walked.place.row)) {}

    __device__ __forceinline__ void load(int first) {
        if (first != held) {
            held = first;
            of.load(p, run, row, first, run.count - first, 0);
            taken = run.taken<step>(p.selection, first);
        }
    }

    __device__ __forceinline__ Float partial() {
        TreeCounter<FloatSum<Float>, 8> counter;
#pragma unroll 1
        for (int first = 0; first < run.count; first += step) {
            load(first);
            counter.push(of.sum(p.log, taken));
        }
        return counter.result();
    }

    __device__ __forceinline__ void write(Float, Float total) {
#pragma unroll 1
        for (int first = 0; first < run.count; first += step) {
            load(first);
            of.write(p, run, row, first, run.count - first, taken, total);
        }
    }
};

// The same operation where threads have parts of columns.
template <class Float>
struct StridedColumnGradient : StridedGradient<Float> {
    using Column = LoopedGradients<Float>;
    using ResidentRun = RunGradients<Float, resident_elements<Float> / 2>;
    static constexpr int resident_column_registers =
        72; // for 28: two blocks of 13 (f32 of 200 2.47 TB/s, with 80 1.66)
};

} // namespace wr::cuda::strided

namespace wr::cuda {

using namespace strided;

const StridedKernels &softmax_backward_kernels_f32() { return strided_kernels<StridedColumnGradient<float>>(); }
const StridedKernels &softmax_backward_kernels_f64() { return strided_kernels<StridedColumnGradient<double>>(); }

} // namespace wr::cuda
