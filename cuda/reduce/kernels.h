// The kernels of one element type and operator, as the launcher sees them. Each set is made in a translation unit of
// its own class of operators, so that they build side by side.
#pragma once

#include "cuda/reduce/arguments.h"
#include "numerics/problem.h"

namespace wr::cuda {

// A set that has no kernel of its own for a regime does it by another: where nullptr may stand, the plan looks.
struct ReduceKernels {
    const void *aligned_rows;   // RowArguments: vectors along the axis
    const void *shifted_rows;   // RowArguments: likewise, rows of any alignment; nullptr in sets of partial results
    const void *scattered_rows; // RowArguments: any strides; nullptr likewise
    const void *aligned_packed_rows; // RowArguments: short rows, powers of two; nullptr: staged
    const void *aligned_triple_rows; // RowArguments: short rows, 3 times powers of two; nullptr: staged
    const void *cluster_rows;        // RowArguments: one launch for few rows; nullptr: rows
    const void *columns;             // ColumnArguments: vectors, runs of long_run rows; nullptr: short_columns
    const void *short_columns;       // ColumnArguments: vectors, runs of short_run rows
    const void
        *scalar_columns; // ColumnArguments: single columns, runs of scalar_run rows; nullptr: all columns are vectors
    const void *narrow_columns; // ColumnArguments: rows of 1, 2 or 4 vectors, many of them; nullptr: staged
    const void *triple_columns; // ColumnArguments: 3 or 6 columns of many rows; nullptr: staged
    const void *few_rows;       // ColumnArguments: vectors, axes of up to few_rows_axis; nullptr: short_columns
    const void *staged;         // StagedArguments
    const void *staged_vectors; // StagedArguments: rows of whole vectors; nullptr: staged
    const void *segments;       // SegmentArguments: all but the end of long segments; nullptr: not asked for
    const void *long_segments;  // SegmentArguments: that; nullptr in sets that take on no partial results
    int element_bytes;
    int column_vector_bytes;
    int triples_a_thread; // of the kernel of rows of up to three vectors
    int partial_bytes;
    bool rows_run_as_clusters; // those of rows on vectors: few rows in one launch, without a kernel for it
    bool atomic;               // blocks may update one partial result
    std::uint64_t identity;    // its bits, where they may
    // The set that takes the partial results on.
    const ReduceKernels &(*partial)();
};

inline constexpr int long_run = 128;
inline constexpr int short_run = 16;
inline constexpr int scalar_run = 32;

// Elements that a warp takes as one tile: along vectors, and by single loads.
inline constexpr int bytes_a_tile = 4096;
inline constexpr int scattered_tile = 256;

template <class T, class Op>
const ReduceKernels &reduce_kernels();

// The set for a reduction; nullptr where there is none.
const ReduceKernels *find_reduce_kernels(const Reduction &what);

// Sets accumulators to their identity, `count` of `bytes` (4 or 8) bytes each.
struct FillArguments {
    void *output;
    std::size_t count;
    std::uint64_t identity;
    int bytes;
};
const void *fill_kernel();

} // namespace wr::cuda
