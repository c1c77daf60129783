// Short rows of any width, and columns where inner is narrow: a block copies a contiguous piece of the array into
// shared memory by whole vectors, and each thread takes runs of its cells, however they lie.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/quick_way.cuh"
#include "cuda/reduce/rows.cuh"
#include "cuda/reduce/stage.cuh"

namespace wr::cuda {

// 64-bit division only where the numbers need it.
__device__ __forceinline__ std::size_t quotient(std::size_t dividend, std::size_t divisor) {
    return ((dividend | divisor) >> 32) == 0 ? static_cast<unsigned>(dividend) / static_cast<unsigned>(divisor)
                                             : dividend / divisor;
}

// The items that a block takes, which touch each other in memory.
struct StagedBlock {
    std::size_t first_item, first_row, first_element;
    int items, last_rows;

    __device__ __forceinline__ explicit StagedBlock(const StagedArguments &a) {
        const std::size_t number = a.first_block + blockIdx.x;
        const auto items_a_block = static_cast<std::size_t>(a.items_a_block);
        const auto rows = static_cast<std::size_t>(a.rows);
        std::size_t outer = 0, group = number * items_a_block;
        if (a.groups == 1) {
            outer = group;
            group = 0;
            items = static_cast<int>(smaller(a.outer - outer, items_a_block));
            last_rows = a.rows;
        } else {
            if (a.outer != 1) {
                outer = quotient(number, a.group_blocks);
                group = (number - outer * a.group_blocks) * items_a_block;
            }
            items = static_cast<int>(smaller(a.groups - group, items_a_block));
            last_rows = static_cast<int>(smaller(a.axis - (group + static_cast<std::size_t>(items) - 1) * rows, rows));
        }
        first_item = outer * a.groups + group;
        first_row = group * rows;
        first_element = (outer * a.axis + first_row) * a.inner;
    }

    __device__ __forceinline__ unsigned cells(const StagedArguments &a) const {
        return static_cast<unsigned>((items - 1) * a.rows + last_rows) * static_cast<unsigned>(a.inner);
    }
    __device__ __forceinline__ int rows(const StagedArguments &a, int item) const {
        return item + 1 == items ? last_rows : a.rows;
    }
    // Where on the axis an item begins.
    __device__ __forceinline__ std::size_t position(const StagedArguments &a, int item) const {
        return a.groups == 1 ? 0 : first_row + static_cast<std::size_t>(item * a.rows);
    }
};

// What a thread reduces: rows of one column of an item.
struct StagedTask {
    int item, run, column;

    // Threads side by side take neighbouring columns, then runs or items, whichever lie apart by what meets other
    // banks.
    __device__ __forceinline__ StagedTask(const StagedArguments &a, unsigned number) {
        const unsigned place = a.inner == 1 ? number : a.by_inner.divide(number);
        column = static_cast<int>(number - place * static_cast<unsigned>(a.inner));
        const unsigned above = a.runs == 1 ? place : a.by_neighbours.divide(place);
        const unsigned beside = a.runs == 1 ? 0 : place - above * a.by_neighbours.divisor;
        item = static_cast<int>(a.runs == 1 || a.runs_are_neighbours ? above : beside);
        run = static_cast<int>(a.runs == 1 || a.runs_are_neighbours ? beside : above);
    }
};

template <class Op>
__device__ __forceinline__ void deliver_staged(const StagedArguments &a, const typename Op::Accumulator &value,
                                               std::size_t result) {
    if (a.destination == Destination::output) {
        finish_result(value, a.finish, a.output, result);
    } else {
        store_partial<Op>(value, a.output, result);
    }
}

// Where a task's cells lie.
struct StagedRun {
    unsigned first; // place
    int step, count;
    std::size_t position; // on the axis
    std::size_t cell;     // of the block's, as they lie in memory

    __device__ __forceinline__ StagedRun(const StagedArguments &a, const StagedBlock &block, const StagedTask &task)
        : first(static_cast<unsigned>(task.item * a.item_pitch + task.run * a.run_pitch + task.column)),
          step(static_cast<int>(a.inner)), count(smaller(block.rows(a, task.item) - task.run * a.run, a.run)),
          position(block.position(a, task.item) + static_cast<std::size_t>(task.run * a.run)),
          cell(static_cast<std::size_t>(task.item * a.rows + task.run * a.run)) {}

    __device__ __forceinline__ unsigned place(int i) const { return first + static_cast<unsigned>(i * step); }
};

// Reduces what the stage holds; tree_of(run) is the tree over a run of its cells.
template <class Op, class TreeOf>
__device__ __forceinline__ void reduce_stage(const StagedArguments &a, const StagedBlock &block,
                                             const TreeOf &tree_of) {
    const auto reduced = [&](const StagedTask &task) { return tree_of(StagedRun(a, block, task)); };
    const unsigned inner = static_cast<unsigned>(a.inner), results = static_cast<unsigned>(block.items) * inner;
    const std::size_t first_result = block.first_item * a.inner;
    if (a.runs == 1) {
        for (unsigned number = threadIdx.x; number < results; number += blockDim.x) {
            deliver_staged<Op>(a, reduced(StagedTask(a, number)), first_result + number);
        }
        return;
    }
    // The runs of an item's column meet in shared memory, one thread's each.
    __shared__ typename Op::Accumulator runs[staged_threads];
    const unsigned columns = static_cast<unsigned>(a.items_a_block) * inner;
    if (threadIdx.x < columns * static_cast<unsigned>(a.runs)) {
        const StagedTask task(a, threadIdx.x);
        if (task.item < block.items) {
            runs[static_cast<unsigned>(task.run) * columns + static_cast<unsigned>(task.item) * inner +
                 static_cast<unsigned>(task.column)] = reduced(task);
        }
    }
    __syncthreads();
    if (threadIdx.x < results) {
        const auto value = by_plain_squares<Partial<Op>>(a.mapping, [=, &a](auto way, const auto &of) {
            return run_tree<decltype(way)>(
                [&](int i) { return of(runs[static_cast<unsigned>(i) * columns + threadIdx.x]); }, a.runs, a.mapping,
                0);
        });
        deliver_staged<Op>(a, value, first_result + threadIdx.x);
    }
}

template <class Op>
inline constexpr int staged_blocks_resident = sizeof(typename QuickOf<Op>::Accumulator) <= 8 ? 5 : 2;

// The array is contiguous. Outputs or partial results are numbered by item and column.
template <class T, class Op>
__global__ void __launch_bounds__(staged_threads, staged_blocks_resident<Op>)
    reduce_staged(const __grid_constant__ StagedArguments a) {
    unsigned char *memory = launched_memory();
    pdl_wait_and_release(a);
    const StagedBlock block(a);
    const unsigned start = fill_stage<T>(static_cast<const T *>(a.input) + block.first_element, block.cells(a),
                                         {a.unit, static_cast<unsigned>(a.gap)}, a.readable_range, memory);
    __syncthreads();
    const unsigned char *elements = memory + start;
    reduce_stage<Op>(a, block, [&](const StagedRun &run) {
        const auto tree = [=, &a](auto way, const auto &of) {
            return run_tree<decltype(way)>(
                [&](int i) { return of(staged_element<T>(elements + run.place(i) * sizeof(T))); }, run.count, a.mapping,
                run.position);
        };
        if constexpr (has_value_maps<T, Op>) {
            return with_value_map<T, Op>(a.mapping, [&](auto way, const auto &of) { return tree(way, of); });
        } else {
            return by_plain_squares<Op>(a.mapping, tree);
        }
    });
}

// A run of vectors whose squares have left the range of plain floats.
template <class T, class Op>
__device__ __noinline__ typename Op::Accumulator tree_of_vectors_again(const T *data, int count, const Mapping &m) {
    return run_tree<Partial<Op>>(
        [=, &m](int i) { return vector_tree<T, Op>(reinterpret_cast<const uint4 *>(data)[i], m); }, count, m, 0);
}

// Rows of whole vectors; the first starts on a 16-byte boundary. a.axis and the layout count vectors.
template <class T, class Op>
__global__ void __launch_bounds__(staged_threads, staged_blocks_resident<Op>)
    reduce_staged_vectors(const __grid_constant__ StagedArguments a) {
    static_assert(!Op::positional);
    using Quick = QuickOf<Op>;
    __shared__ typename Quick::Accumulator cells[block_stage_vectors / 8 * 9];
    pdl_wait_and_release(a);
    const StagedBlock block(a);
    const T *data = static_cast<const T *>(a.input) + block.first_element * vector_elements<T>;
    fill_stage_with_trees<T, Quick>(data, block.cells(a), {a.unit, static_cast<unsigned>(a.gap)}, a.mapping, cells);
    __syncthreads();
    reduce_stage<Op>(a, block, [&](const StagedRun &run) {
        const auto tree = run_tree<Partial<Quick>>([&](int i) { return cells[run.place(i)]; }, run.count, a.mapping, 0);
        if constexpr (!has_quick_way<Op>) {
            return tree;
        } else {
            return Quick::is_enough(tree)
                       ? scaled_form(tree)
                       : tree_of_vectors_again<T, Op>(data + run.cell * vector_elements<T>, run.count, a.mapping);
        }
    });
}

} // namespace wr::cuda
