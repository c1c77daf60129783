// The gradient of softmax of short rows, one behind the other, wherever they start: a block's rows are one run of
// elements, which it reads and writes by the vectors on their boundaries. What elements bring to their rows' sums lies
// in shared memory, where some lanes add each row up.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/softmax_backward/terms.cuh"
#include "cuda/softmax_backward/vector_run.cuh"

namespace wr::cuda {

// The rows of a block, and what they have of each array.
template <class T>
struct FlatRows : VectorRun<T> {
    using Run = VectorRun<T>;
    std::size_t first, before; // row, and element
    int count, axis;           // rows, and elements of each
    unsigned reciprocal;

    __device__ __forceinline__ explicit FlatRows(const FlatBackwardArguments &a)
        : first(blockIdx.x * static_cast<std::size_t>(a.block_rows)), before(first * static_cast<unsigned>(a.axis)),
          count(static_cast<int>(smaller<std::size_t>(a.rows - first, a.block_rows))), axis(static_cast<int>(a.axis)),
          reciprocal(a.reciprocal) {
        constexpr std::size_t each = Run::each;
        this->begin = elements_of_vector_before(static_cast<const T *>(a.saved) + before);
        this->end = this->begin + count * axis;
        const auto low = static_cast<int>(smaller(first, each)) * axis;
        const auto high = static_cast<int>(smaller(a.rows - first - static_cast<unsigned>(count), each)) * axis;
        this->cut_low = low < this->begin;
        this->cut_high = high < divide_up(this->end, Run::each) * Run::each - this->end;
    }

    __device__ __forceinline__ static int number_of(int v) { // of this thread
        return v * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x);
    }
    __device__ __forceinline__ const T *in(const void *array) const { return static_cast<const T *>(array) + before; }

    // What each element of a vector has of its row: value(row).
    template <class Value>
    __device__ __forceinline__ void of_rows(int number, Value value, float (&values)[Run::each]) const {
        const int element = number * Run::each - this->begin;
        if (axis >= Run::each) { // two rows at most
            const int row = row_of(element), left = (row + 1) * axis - element;
            const float own = value(row), next = value(row + 1);
#pragma unroll
            for (int i = 0; i < Run::each; ++i) {
                values[i] = i < left ? own : next;
            }
        } else {
#pragma unroll
            for (int i = 0; i < Run::each; ++i) {
                values[i] = value(row_of(element + i));
            }
        }
    }

  private:
    // That has this element, or the first one, or the last.
    __device__ __forceinline__ int row_of(int element) const {
        const auto row = static_cast<int>(__umulhi(static_cast<unsigned>(larger(element, 0)), reciprocal));
        return smaller(row, count - 1);
    }
};

// The block's rows' sums: 2^n lanes for each, of which every one has a.lane_runs runs.
template <class T>
__device__ __forceinline__ void sum_flat_rows(const FlatBackwardArguments &a, const FlatRows<T> &rows,
                                              const float *terms, float *totals) {
    const int log_lanes = 31 - __clz(a.row_lanes), all = rows.count << log_lanes;
    for (int first = warp_index() * warp_lanes; first < all; first += static_cast<int>(blockDim.x)) {
        const int row = (first + lane_index()) >> log_lanes, part = lane_index() & (a.row_lanes - 1);
        const int element = part * a.lane_runs * term_run, left = row < rows.count ? rows.axis - element : 0;
        const float sum = sum_of_runs(terms, a.lane_runs, rows.begin + row * rows.axis + element, left);
        const float total = tree_over_lanes<FloatSum<float>>(sum, a.row_lanes);
        if (part == 0 && row < rows.count) {
            totals[row] = total;
        }
    }
}

// The weights that logits stand for.
template <class Part>
__device__ __forceinline__ void form_flat_weights(const FlatBackwardArguments &a,
                                                  const FlatRows<typename Part::T> &rows, float *logsumexps,
                                                  const BackwardElements<Part> &saved, FormedWeights<Part> &weights) {
    for (int row = static_cast<int>(threadIdx.x); row < rows.count; row += static_cast<int>(blockDim.x)) {
        logsumexps[row] = a.logsumexp[rows.first + static_cast<unsigned>(row)];
    }
    __syncthreads();
#pragma unroll
    for (int v = 0; v < Part::accesses; ++v) {
        float own[Part::run];
        rows.of_rows(rows.number_of(v), [&](int row) { return logsumexps[row]; }, own);
        form_weights<Part::run>(
            [&](int i) { return saved_row(SavedAs::logits, a.log, a.scale, own[i], a.empty_row_zero); },
            [&](int i) { return saved[v * Part::run + i]; }, weights.of + v * Part::run);
    }
}

// What a thread has of a block's rows.
template <class T, std::size_t Elements>
using FlatPart = LanePart<T, static_cast<int>(Elements) / vector_elements<T>, vector_elements<T>>;

// Blocks of so many threads that a multiprocessor has registers for: two arrays' words are a thread's, and few beside.
template <class Part>
inline constexpr int flat_blocks = Part::accesses < 4 ? 5 : 4;

template <class Part, bool FromLogits>
__global__ void __launch_bounds__(static_cast<int>(backward_flat_threads), flat_blocks<Part>)
    backward_flat_rows(const __grid_constant__ FlatBackwardArguments a) {
    using T = typename Part::T;
    float *const of_rows = reinterpret_cast<float *>(launched_memory()), *const terms = of_rows + a.block_rows + 1;
    pdl_wait_and_release();
    const FlatRows<T> rows(a);
    BackwardElements<Part> saved, gradients;
    const int thread = rows.number_of(0), threads = static_cast<int>(blockDim.x);
    rows.load(rows.in(a.saved), thread, threads, saved.of);
    rows.load(rows.in(a.output_gradient), thread, threads, gradients.of);
    if (rows.cut_low || rows.cut_high) {
        rows.load_ends(rows.in(a.saved), thread, threads, saved.of);
        rows.load_ends(rows.in(a.output_gradient), thread, threads, gradients.of);
    }
    std::conditional_t<FromLogits, FormedWeights<Part>, BackwardElements<Part>> weights;
    if constexpr (FromLogits) {
        form_flat_weights(a, rows, of_rows, saved, weights);
    } else {
        weights = saved;
    }
#pragma unroll
    for (int v = 0; v < Part::accesses; ++v) {
        store_terms<Part::run>(terms, rows.number_of(v), a.log, weights.of_access(v), gradients.of_access(v));
    }
    __syncthreads();
    sum_flat_rows(a, rows, terms, of_rows);
    __syncthreads();
    take_again(weights);
    take_again(gradients);
#pragma unroll
    for (int v = 0; v < Part::accesses; ++v) {
        float totals[Part::run];
        rows.of_rows(rows.number_of(v), [&](int row) { return of_rows[row]; }, totals);
        rows.store(static_cast<T *>(a.input_gradient) + rows.before, rows.number_of(v),
                   gradients_of<FromLogits>(a, v, weights, gradients, totals));
    }
}

} // namespace wr::cuda
