// The kernels of one element type and operator, as the launcher sees them. Each set is made in a translation unit of
// its own class of operators, so that they build side by side.
#pragma once

#include "cuda/reduce_arguments.h"

namespace wr::cuda {

// What partial results are, and so which set takes them on.
enum class PartialType : std::int32_t { f32, f64, integer, key32, key64 };

struct ReduceKernels {
    const void *aligned_rows;        // RowArguments: vectors along the axis
    const void *shifted_rows;        // RowArguments: likewise, rows of any alignment
    const void *scattered_rows;      // RowArguments: any strides
    const void *aligned_packed_rows; // RowArguments: short rows, powers of two
    const void *shifted_packed_rows; // RowArguments: likewise, of any alignment
    const void *cluster_rows;        // RowArguments: one launch for few rows
    const void *columns;             // ColumnArguments: vectors, runs of long_run rows
    const void *short_columns;       // ColumnArguments: vectors, runs of short_run rows
    const void *scalar_columns;      // ColumnArguments: single columns, runs of scalar_run rows
    int element_bytes;
    int partial_bytes;
    PartialType partial;
    bool order_free;
    std::uint64_t identity; // the accumulator's bits
};

inline constexpr int long_run = 128;
inline constexpr int short_run = 16;
inline constexpr int scalar_run = 32;

// Elements that a warp takes as one tile: along vectors, and by single loads.
inline constexpr int bytes_a_tile = 4096;
inline constexpr int scattered_tile = 256;

template <class T, class Op>
const ReduceKernels &reduce_kernels();

// The set for an operator on elements of `dtype`, sums kept in `accumulate`; nullptr where there is none.
const ReduceKernels *find_reduce_kernels(Operator op, ElementType dtype, ElementType accumulate);

// The set that reduces partial results of that type.
const ReduceKernels &partial_kernels(PartialType type);

// Sets accumulators to their identity, `count` of `bytes` (4 or 8) bytes each.
struct FillArguments {
    void *output;
    std::size_t count;
    std::uint64_t identity;
    int bytes;
};
const void *fill_kernel();

} // namespace wr::cuda
