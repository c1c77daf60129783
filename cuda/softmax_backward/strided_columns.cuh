// The gradient of softmax of columns with every option: of up to some hundred elements in the registers of the threads
// that share one, of more by threads that walk them.
#pragma once

#include "cuda/rowwise/strided_columns.cuh"
#include "cuda/softmax_backward/strided_rows.cuh"

namespace wr::cuda::strided {

// The weights of a run and the gradients of its outputs; of what takes no part they say nothing.
template <class Float, int N>
struct RunGradients {
    Float weights[N], gradients[N];

    // As it was saved.
    __device__ __forceinline__ void load(const SoftmaxBackwardProblem &p, const ColumnRun &run, int first, int count) {
        const Shape &s = p.shape;
        const unsigned allowed = run.allowed<N>(first);
        load_run(p.dtype, saved_array(p), run.index(s.outer_stride, s.axis_stride, s.inner_stride, first),
                 s.axis_stride, allowed, count, weights);
        load_run(p.output_gradient_dtype, p.output_gradient,
                 run.index(p.gradient_outer_stride, p.gradient_axis_stride, p.gradient_inner_stride, first),
                 p.gradient_axis_stride, allowed, count, gradients);
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

    __device__ __forceinline__ void write(const SoftmaxBackwardProblem &p, const ColumnRun &run,
                                          const SavedRow<Float> &row, int first, int count, unsigned taken,
                                          Float total) {
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

// A tile of a column that a thread walks, a step at a time: what has one step is read once.
inline constexpr int backward_walk_step = 8;

template <class Float>
struct LoopedGradients {
    static constexpr int step = backward_walk_step;
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
            of.load(p, run, first, run.count - first);
            taken = run.taken<step>(p.selection, first);
            form_weights(row, of.weights);
        }
    }

    __device__ __forceinline__ Float sum() {
        TreeCounter<FloatSum<Float>, 8> counter;
#pragma unroll 1
        for (int first = 0; first < run.count; first += step) {
            load(first);
            counter.push(of.sum(p.log, taken));
        }
        return counter.result();
    }

    __device__ __forceinline__ void write(Float total) {
#pragma unroll 1
        for (int first = 0; first < run.count; first += step) {
            load(first);
            of.write(p, run, row, first, run.count - first, taken, total);
        }
    }
};

// Blocks of threads that walk columns and that a multiprocessor should hold.
template <class Float>
inline constexpr int backward_walking_resident_blocks = sizeof(Float) == 4 ? 3 : 2;

// Columns, of which a thread walks a tile: the sums of these or, once the columns' totals are there, their
// gradients; and of columns of one tile, which have no splits, both.
template <class Float>
__global__ void __launch_bounds__(strided_block_threads, backward_walking_resident_blocks<Float>)
    backward_columns(const __grid_constant__ SoftmaxBackwardArguments a) {
    const SoftmaxBackwardProblem &p = a.problem;
    const bool whole = a.splits == 0;
    const std::size_t blocks = whole ? 1 : a.splits, jobs = p.shape.outer * p.shape.inner * blocks;
    for (std::size_t job = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; job < jobs;
         job += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
        const LoopedTile own(p.shape, blocks, job);
        const ColumnRun run(p.shape, p.selection, own.row, own.block * softmax_block, softmax_block);
        LoopedGradients<Float> column(p, run);
        const Float total = a.applies ? static_cast<Float>(a.totals[own.row]) : column.sum();
        if (whole || a.applies) {
            column.write(total);
        } else {
            a.sums[own.row * blocks + own.block] = static_cast<double>(total);
        }
    }
}

// Columns of up to resident_column_warps times as many elements as a thread holds, read once: 32 side by side by
// the warps of one threadIdx.y, each of which has a run of their elements.
template <class Float>
__global__ void __maxnreg__(resident_gradient_registers)
    backward_resident_columns(const __grid_constant__ SoftmaxBackwardArguments a) {
    constexpr int N = resident_elements<Float> / 2;
    __shared__ ColumnExchange<Float> sums;
    const SoftmaxBackwardProblem &p = a.problem;
    const HeldPlace own(p.shape);
    const ColumnRun run(p.shape, p.selection, own.row, own.begin<N>(), own.there ? N : 0);
    const int count = own.elements<N>(p.shape.axis);
    const SavedRow<Float> row = saved_row_of<Float>(p, own.row);
    RunGradients<Float, N> of;
    const unsigned taken = run.taken<N>(p.selection, 0); // first: there are no registers for all at once
    of.load(p, run, 0, count);
    form_weights(row, of.weights);
    const Float total = sums.over_column(own, of.sum(p.log, taken), [](Float x, Float y) { return x + y; });
    of.write(p, run, row, 0, count, taken, total);
}

} // namespace wr::cuda::strided
