// Columns: a thread owns the columns of one vector and a run of rows, in tree order; the threads of a block that stand
// below each other combine through shared memory, and so do the blocks of a cluster.
#pragma once

#include "cuda/reduce/column_run.cuh"
#include "cuda/reduce/rows.cuh"
#include "cuda/reduce/sets.cuh"

namespace wr::cuda {

inline constexpr int column_block_threads = 256;

// Results that a thread combines by itself, where they stand below each other.
inline constexpr int column_fold = 8;
static_assert(column_fold == most_column_cluster);

template <class Op>
__device__ __forceinline__ void deliver_column(const ColumnArguments &a, const typename Op::Accumulator &value,
                                               std::size_t outer, std::size_t group, std::size_t column) {
    if (a.destination == Destination::output) {
        if (!finishes_one_plainly<Op>(value, a.finish, a.output, outer * a.inner + column)) {
            finish_result(value, a.finish, a.output, outer * a.inner + column);
        }
    } else {
        store_partial<Op>(value, a.output, (outer * a.groups + group) * a.inner + column);
    }
}

// Which part of the array a block takes.
struct ColumnJob {
    std::size_t column_tile, group, outer_group;
};

__device__ __forceinline__ ColumnJob column_job(const ColumnArguments &a, unsigned job) {
    const unsigned column_tiles = static_cast<unsigned>(a.column_tiles), groups = static_cast<unsigned>(a.groups);
    if (a.groups_are_clusters) {
        return {job / groups % column_tiles, job % groups, job / groups / column_tiles};
    }
    return {job % column_tiles, job / column_tiles % groups, job / column_tiles / groups};
}

inline __device__ __noinline__ ColumnJob column_job_by_64_bits(const ColumnArguments &a, std::size_t job) {
    return {job % a.column_tiles, job / a.column_tiles % a.groups, job / a.column_tiles / a.groups};
}

// The tree over the results of `rows` rows of a table, at most column_fold of them, `step` apart.
template <class Op>
__device__ __forceinline__ typename Op::Accumulator fold_rows(const typename Op::Accumulator *table, int rows,
                                                              int step) {
    typename Op::Accumulator values[column_fold];
#pragma unroll
    for (int r = 0; r < column_fold; ++r) {
        values[r] = r < rows ? table[r * step] : Op::identity();
    }
    return tree_of_elements<Op>(values);
}

// What the threads of a block have found, a row of the table for those that stand side by side: `rows` rows of each
// outer index, where they are more than column_fold a power of two, until they are few enough for one thread.
template <class Op>
__device__ __forceinline__ int fold_table(typename Op::Accumulator *table, int rows, int width, int slots,
                                          const ColumnArguments &a, int elements_log2) {
    for (; rows > column_fold; rows /= column_fold) {
        const int at = static_cast<int>(threadIdx.x);
        const int row = static_cast<int>(a.by_across.divide(threadIdx.x >> elements_log2));
        const bool has_one = at < slots * rows / column_fold * width;
        typename Op::Accumulator value = Op::identity();
        if (has_one) {
            value = fold_rows<Op>(table + row * (column_fold - 1) * width + at, column_fold, width);
        }
        __syncthreads();
        if (has_one) {
            table[at] = value;
        }
        __syncthreads();
    }
    return rows;
}

// Where in its block a thread stands, and what the block takes.
struct ColumnThread {
    unsigned across, down, slot;
    ColumnJob job;

    __device__ __forceinline__ explicit ColumnThread(const ColumnArguments &a)
        : job(a.few_jobs ? column_job(a, blockIdx.x) : column_job_by_64_bits(a, a.first_job + blockIdx.x)) {
        const unsigned above = a.by_across.divide(threadIdx.x);
        across = threadIdx.x - above * static_cast<unsigned>(a.threads_across);
        slot = above / static_cast<unsigned>(a.threads_down);
        down = above - slot * static_cast<unsigned>(a.threads_down);
    }
};

template <class T, class Op, class Columns>
inline constexpr bool takes_short_axes =
    (has_all_kernels<T, Op> || has_many_rows_in_flight<T, Op>) && (Columns::elements > 2) &&
    finishes_side_by_side<typename Op::Accumulator> &&
    !(is_made_of<Op, Extreme> && sizeof(T) < sizeof(float)); // whose words hold several

// The columns of so many vectors that as many loads are on their way as of a longer axis. Plain loads: as much as half
// of what moves is written.
template <class T, class Op, class Columns, int Rows>
__device__ __forceinline__ void reduce_vectors_of_columns(const ColumnArguments &a, std::size_t outer,
                                                          std::size_t column) {
    constexpr int vectors = least_column_run / Rows, elements = Columns::elements;
    const T *first = static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(outer) * a.outer_stride + column;
    const std::size_t step = static_cast<std::size_t>(a.threads_across) * elements;
    const int rows = static_cast<int>(a.axis);
    Columns loaded[vectors][Rows];
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            if (r < rows && column + static_cast<unsigned>(v) * step < a.inner) {
                loaded[v][r].load_plainly(first + static_cast<unsigned>(v) * step + r * a.axis_stride);
            }
        }
    }
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
        const std::size_t at = column + static_cast<unsigned>(v) * step;
        if (at < a.inner) {
            const ColumnRun<T> run{first + static_cast<unsigned>(v) * step, a.axis_stride, rows, 0};
            const auto results = result_of_rows<T, Op>(run, loaded[v], a.mapping);
            finish_neighbours<Op>(results.values, a.finish, a.output, outer * a.inner + at);
        }
    }
}

// An axis of few rows, of which every block takes all.
template <class T, class Op, class Columns>
__global__ void __launch_bounds__(column_block_threads, 3)
    reduce_short_columns(const __grid_constant__ ColumnArguments a) {
    pdl_wait_and_release(a);
    const ColumnThread thread(a);
    const std::size_t outer = thread.job.outer_group * static_cast<std::size_t>(a.outer_a_block) + thread.slot;
    const std::size_t width = static_cast<std::size_t>(a.threads_across * a.vectors) * Columns::elements;
    const std::size_t column = thread.job.column_tile * width + thread.across * unsigned{Columns::elements};
    if (outer < a.outer && a.axis <= 2) {
        reduce_vectors_of_columns<T, Op, Columns, 2>(a, outer, column);
    } else if (outer < a.outer) {
        reduce_vectors_of_columns<T, Op, Columns, most_short_axis>(a, outer, column);
    }
}

// Blocks that a multiprocessor should hold: what a thread keeps of a vector of columns decides, and of sums that 16
// rows are on their way (H200, 16384 x 4096 f32 69.3 us by three blocks with 8 rows, 63.4; 8192 x 4096 bf16 24.8
// and 21.1).
template <class T, class Op, class Columns, int MostRun>
inline constexpr int column_blocks_resident =
    Columns::elements == 1 && column_state_bytes<T, Op> == sizeof(float) ? 4
    : column_state_bytes<T, Op> * Columns::elements <= 32 && !is_f8<T> &&
            (MostRun == few_column_rows || (!has_many_rows_in_flight<T, Op> && !has_quick_way<Op>))
        ? 3
        : 2;

// A block is threads_across column vectors, threads_down runs, and as many outer indices as find room in 256 threads.
// inner is a multiple of a vector's elements, and every vector is aligned.
template <class T, class Op, class Columns, int MostRun = longest_column_run<T, Op, Columns>>
__global__ void __launch_bounds__(column_block_threads, (column_blocks_resident<T, Op, Columns, MostRun>))
    reduce_columns(const __grid_constant__ ColumnArguments a) {
    pdl_wait_and_release(a);
    using Accumulator = typename Op::Accumulator;
    constexpr int elements = Columns::elements, elements_log2 = log2_of(elements);
    __shared__ Accumulator table[elements * column_block_threads];
    const ColumnThread thread(a);
    const unsigned across = thread.across, down = thread.down, slot = thread.slot;
    const ColumnJob &job = thread.job;
    const int slots = a.outer_a_block, width = a.threads_across * elements;
    const std::size_t first_outer = job.outer_group * static_cast<std::size_t>(slots), outer = first_outer + slot;
    const std::size_t first_column = job.column_tile * static_cast<std::size_t>(width);
    const std::size_t column = first_column + across * elements;
    const std::size_t row =
        (job.group * static_cast<std::size_t>(a.threads_down) + down) * static_cast<std::size_t>(a.run);
    const bool inside = column < a.inner && outer < a.outer && row < a.axis;
    const ColumnRun<T> run{static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(outer) * a.outer_stride +
                               static_cast<std::ptrdiff_t>(row) * a.axis_stride + static_cast<std::ptrdiff_t>(column),
                           a.axis_stride,
                           inside ? static_cast<int>(smaller(a.axis - row, static_cast<std::size_t>(a.run))) : 0, row};
    const auto sums = result_of_run<T, Op, Columns, MostRun>(run, a.mapping);
    if constexpr (elements > 1 && finishes_side_by_side<Accumulator>) {
        if (a.threads_down == 1 && a.destination == Destination::output) {
            if (inside) {
                finish_neighbours<Op>(sums.values, a.finish, a.output, outer * a.inner + column);
            }
            return;
        }
    }
#pragma unroll
    for (int e = 0; e < elements; ++e) {
        table[threadIdx.x * elements + static_cast<unsigned>(e)] = sums.values[e];
    }
    __syncthreads();
    const int rows = fold_table<Op>(table, a.threads_down, width, slots, a, elements_log2);
    const auto deliver_from = [&](int i, auto value_of) {
        const unsigned of_slot = slots == 1 ? 0 : a.by_across.divide(static_cast<unsigned>(i) >> elements_log2);
        const std::size_t at_column = first_column + static_cast<unsigned>(i) - of_slot * static_cast<unsigned>(width);
        if (first_outer + of_slot < a.outer && at_column < a.inner) {
            deliver_column<Op>(a, value_of(of_slot), first_outer + of_slot, job.group, at_column);
        }
    };
    const auto of_block = [&](int i, unsigned of_slot) {
        return fold_rows<Op>(table + static_cast<int>(of_slot) * (rows - 1) * width + i, rows, width);
    };
    if (!a.groups_are_clusters) {
        for (int i = static_cast<int>(threadIdx.x); i < slots * width; i += static_cast<int>(blockDim.x)) {
            deliver_from(i, [&](unsigned of_slot) { return of_block(i, of_slot); });
        }
        return;
    }
    // A cluster has one outer index. Each of its blocks delivers a share of the columns.
    __shared__ Accumulator of_cluster[elements * column_block_threads];
    for (int i = static_cast<int>(threadIdx.x); i < width; i += static_cast<int>(blockDim.x)) {
        of_cluster[i] = Op::settle(of_block(i, 0));
    }
    synchronise_cluster();
    const int groups = static_cast<int>(a.groups), step = groups * static_cast<int>(blockDim.x);
    for (int i = static_cast<int>(job.group) * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x); i < width;
         i += step) {
        deliver_from(i, [&](unsigned) {
            Accumulator values[column_fold];
#pragma unroll
            for (int g = 0; g < column_fold; ++g) {
                values[g] = g < groups ? *in_block(of_cluster + i, static_cast<unsigned>(g)) : Op::identity();
            }
            return tree_of_elements<Op>(values);
        });
    }
    synchronise_cluster(); // a block's shared memory is there until the others have read it
}

} // namespace wr::cuda
