// The table of rules by which a reduction gets its algorithm and launch. A function of the shape and a few facts about
// the GPU; launches nothing.
#pragma once

#include "cuda/common/gpu_facts.h"
#include "cuda/reduce/kernels.h"
#include "numerics/problem.h"
#include "numerics/state.h"

namespace wr::cuda {

enum class ReduceAlgorithm {
    packed_rows,       // a warp takes several rows, powers of two, by one tile
    three_vector_rows, // a thread takes three vectors of rows of 3 times a power of two
    staged_vectors,    // a block puts trees over vectors of short rows into shared memory
    staged,            // a block puts short rows or narrow columns into shared memory
    columns,           // a thread takes the columns of a vector, or one
    cluster_rows,      // a cluster of blocks finishes a row
    warp_rows,         // a warp takes a row of several tiles
    dealt_rows,        // a row's tiles go round the warps of a block
    rows,              // warps of a block or several blocks share a row
};

struct RowPlan {
    bool vectors = true; // whether the axis is read by 16-byte vectors,
    bool aligned = true; // and all rows start on their boundaries
    std::size_t splits = 1;
    int warps = 1;
    int tiles = 1;
    int dealt = 0; // as RowArguments has it
    std::size_t rows_a_block = 1;
    int block_warps = 8;
    std::size_t shared_bytes = 0;
};

// As ColumnArguments has it.
struct ColumnPlan {
    bool vectors, few_rows;
    std::size_t groups, column_tiles, outer_a_block;
    int run, threads_across, threads_down, vectors_a_thread;
    bool groups_are_clusters;
    std::size_t blocks;
};

// As StagedArguments has it.
struct StagedPlan {
    std::size_t axis; // cells
    std::size_t groups, group_blocks, blocks, threads;
    std::size_t shared_bytes; // for the cells, where the kernel declares no room for them
    std::size_t rows, items_a_block;
    std::size_t run, runs;
    bool runs_are_neighbours;
    std::size_t unit, gap;
    std::size_t item_pitch, run_pitch;
};

// A shape after the cases that are the same job have been made one.
struct ReducePlan {
    Shape shape;
    ReduceAlgorithm algorithm;
    union { // the one of the algorithm
        RowPlan rows{};
        ColumnPlan columns;
        StagedPlan staged;
    };
    std::size_t partials; // that the first stage leaves for the next; 0 where it finishes
};

// What blocks that stage their part of a contiguous array take: trees over `vectors`, or elements.
StagedPlan plan_stage(const Shape &shape, bool vectors, int element_bytes, GpuFacts gpu);

// `address` is the input's; only its alignment is looked at. Pass 1 to assume the worst.
ReducePlan plan_reduction(const Shape &shape, std::uintptr_t address, const ReduceKernels &kernels, GpuFacts gpu);

// Whether one warp takes all nodes of a row, or a block those of rows that it stages.
enum class ShortRows { no, a_warp_each, staged };

// The nodes of a piece of rows in one launch: by themselves where a block takes the longest, else those at either end,
// and of what is between them runs, whose partial results are nodes of a piece again.
struct NodePlan {
    ReducePlan rows;
    RowNodes nodes;
    Piece piece;
    Piece runs; // counted from element 0 of the axis
    bool fits;  // false: one launch will not do
    ShortRows short_rows = ShortRows::no;
};

// `whole`: of the piece as if it were a row of its own, where accumulators are wanted.
NodePlan plan_nodes(const ReducePlan &whole, const ReduceKernels &kernels, const Piece &piece);
NodePlan plan_nodes_of_short_rows(const Shape &shape, std::size_t element_bytes, const Piece &piece, GpuFacts gpu);
NodePlan plan_lone_nodes(const Shape &shape, const ReduceKernels &kernels, const Piece &piece);

// Whether every row starts on a boundary of vectors of so many elements.
bool rows_are_aligned(const Shape &shape, std::uintptr_t address, std::size_t vector_elements);

// The partial results of a plan, as the next stage's input.
Shape partials_shape(const ReducePlan &plan);

} // namespace wr::cuda
