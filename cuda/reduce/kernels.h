// The kernels of one element type and operator, as the launcher sees them. Each set is made in a translation unit of
// its own class of operators, so that they build side by side.
#pragma once

#include "cuda/common/vectors.h"
#include "cuda/reduce/arguments.h"
#include "numerics/problem.h"

namespace wr::cuda {

// A set that has no kernel of its own for a regime does it by another: where nullptr may stand, the plan looks.
struct ReduceKernels {
    const void *aligned_rows;      // RowArguments: vectors along the axis
    const void *unaligned_rows;    // RowArguments: likewise, rows of any alignment; nullptr in sets of partial results
    const void *strided_rows;      // RowArguments: any strides; nullptr likewise
    const void *packed_rows;       // RowArguments: short rows, powers of two; nullptr: staged
    const void *three_vector_rows; // RowArguments: short rows, 3 times powers of two; nullptr: staged
    const void *cluster_rows;      // RowArguments: one launch for few rows; nullptr: rows
    const void *columns;           // ColumnArguments: vectors
    const void *columns_of_few_rows; // ColumnArguments: vectors, runs of up to few_column_rows; nullptr: columns
    const void *single_columns;      // ColumnArguments: likewise, one by one; nullptr: all columns are vectors
    const void *short_columns;       // ColumnArguments: of up to most_short_axis rows; nullptr: columns
    const void *staged;              // StagedArguments
    const void *staged_vectors;      // StagedArguments: rows of whole vectors; nullptr: staged
    const void *segments;            // SegmentArguments: all but the end of long segments; nullptr: not asked for
    const void *long_segments;       // SegmentArguments: that; nullptr in sets that take on no partial results
    int element_bytes;
    int column_vector_bytes;
    int triples_a_thread;   // of three_vector_rows
    int least_packed_bytes; // of a row that packed_rows takes
    int most_column_run;    // of a thread of columns; of single ones most_single_column_run
    int longest_column_run; // of a thread that takes all of an axis
    bool finds_place;       // the operator wants to know where an element stands
    bool adds_norms;        // magnitudes or squares are added up
    bool order_free;        // the operator is exact in any order
    bool deals_tiles;       // of rows to the warps of a block, one by one
    int partial_bytes;
    bool rows_run_as_clusters; // those of rows on vectors: few rows in one launch, without a kernel for it
    // The set that takes the partial results on.
    const ReduceKernels &(*partial)();
};

// Elements that a warp takes as one tile: along vectors, and by single loads.
inline constexpr int bytes_a_tile = 4096;
inline constexpr int strided_tile = 256;

template <class T, class Op>
const ReduceKernels &reduce_kernels();

// The set for a reduction; nullptr where there is none.
const ReduceKernels *find_reduce_kernels(const Reduction &what);

// The kernels for the nodes of rows that are short and many, as the launcher sees them.

// Fewer than so many elements on either side of where the nodes cease to grow, of a row that a warp takes.
inline constexpr unsigned elements_of_node_side = 1u << 15;

// Of rows that are staged: the longest row; its longest node.
inline constexpr std::size_t most_staged_axis = 192;
inline constexpr unsigned most_staged_node = 128;

// Elements left out behind each of them, so that rows lie apart by an odd number of vectors, or by no whole ones.
WR_HD constexpr unsigned gap_of_staged_rows(std::size_t axis, std::size_t element_bytes) {
    return static_cast<unsigned>(axis * element_bytes % (2 * bytes_of_vector) == 0 ? bytes_of_vector / element_bytes
                                                                                   : 0);
}

// RowArguments; nullptr: the operator has none.
struct NodeRowKernels {
    const void *warps, *staged; // a warp for each row; short ones by way of shared memory
};

NodeRowKernels find_node_row_kernels(const Reduction &what);

} // namespace wr::cuda
