// The gradient of softmax of columns with every option: of up to some hundred elements in the registers of the threads
// that share one, of more by threads that walk them.
#pragma once

#include "cuda/rowwise/strided_columns.cuh"
#include "cuda/softmax_backward/strided_rows.cuh"

namespace wr::cuda::strided {

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
