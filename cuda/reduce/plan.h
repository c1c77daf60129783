// From a shape to the regime that reduces it: which kernel, how many blocks, what each leaves behind. A function of the
// shape and a few facts about the GPU; launches nothing.
#pragma once

#include "cuda/reduce/kernels.h"
#include "numerics/problem.h"

namespace wr::cuda {

struct GpuFacts {
    int multiprocessors;
    int cluster_blocks;          // the largest cluster that is sure to fit; 0 without clusters
    bool dependent_launch;       // compute capability 9.0 and later
    int shared_bytes = 0;        // that a block may have, if it asks for them
    int device = 0;              // its number
    int wide_cluster_blocks = 0; // the largest cluster that may be asked for, where that is larger
};

enum class RowRegime { packed, triples, cluster, rows };

struct RowPlan {
    RowRegime regime;
    bool vectors; // whether the axis is read by 16-byte vectors,
    bool aligned; // and all rows start on their boundaries
    std::size_t pieces;
    int warps;
    int tiles;
    bool shared; // pieces of a row update one accumulator
    std::size_t rows_a_block;
};

struct ColumnPlan {
    const void *kernel;
    std::size_t groups;
    std::size_t column_tiles;
    int threads_across;
    int threads_down;
    std::size_t outer_a_block;
    std::size_t blocks;
};

// As StagedArguments has it.
struct StagedPlan {
    const void *kernel;
    std::size_t axis; // cells
    std::size_t groups, group_blocks, blocks, threads;
    std::size_t shared_bytes; // for the cells, where the kernel declares no room for them
    std::size_t rows, items_a_block;
    std::size_t run, runs;
    bool runs_are_neighbours;
    std::size_t unit, gap;
    std::size_t item_pitch, run_pitch;
};

enum class ReduceRegime { rows, columns, staged };

// A shape after the cases that are the same job have been made one.
struct ReducePlan {
    Shape shape;
    ReduceRegime regime;
    union { // the one of the regime
        RowPlan rows;
        ColumnPlan columns;
        StagedPlan staged;
    };
    std::size_t partials; // that the first stage leaves for the next; 0 where it finishes
};

// `address` is the input's; only its alignment is looked at. Pass 1 to assume the worst.
ReducePlan plan_reduction(const Shape &shape, std::uintptr_t address, const ReduceKernels &kernels, GpuFacts gpu);

// The partial results of a plan, as the next stage's input.
Shape partials_shape(const ReducePlan &plan);

} // namespace wr::cuda
