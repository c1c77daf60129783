// What the reduction kernels are launched with. Plain data: host and GPU share it.
#pragma once

#include "numerics/finish.h"

namespace wr::cuda {

// Where a stage's results go.
enum class Destination : std::int32_t {
    output,   // finished, into the caller's output
    partials, // as accumulators, for the next stage
    shared,   // combined into one accumulator a row by atomic updates, for the next stage
};

// Reduction of rows: row number r = (o, i) starts at input + o * outer_stride + i * inner_stride elements.
struct RowArguments {
    const void *input;
    void *output; // of `destination`; partials are [rows][pieces]
    const char *hull_begin, *hull_end;
    std::size_t first_row; // of this launch
    std::size_t rows, axis, inner;
    std::ptrdiff_t outer_stride, axis_stride, inner_stride;
    std::size_t first_piece; // of this launch
    std::size_t pieces;      // blocks that share a row
    std::int32_t warps_log2; // of the warps of a block that share a row
    std::int32_t tiles;      // that each warp takes, a power of two
    Destination destination;
    bool follows;       // launched to depend on the kernel before it in the call
    std::uint64_t flip; // for the operator's map; 0 where the input is partial results
    Finish finish;
};

// Reduction of columns: [outer][axis][inner], inner contiguous, to [outer][axis groups][inner].
struct ColumnArguments {
    const void *input;
    void *output;
    std::size_t first_job; // of this launch; jobs are blocks: column tiles, then groups, then outer indices
    bool few_jobs;         // job numbers fit 32 bits
    std::size_t outer, axis, inner;
    std::ptrdiff_t outer_stride, axis_stride;
    std::size_t groups;          // of the axis, each a block's share
    std::size_t column_tiles;    // blocks side by side
    std::int32_t threads_across; // threads of a block side by side, a power of two
    std::int32_t threads_down;   // threads of a block below each other, a power of two
    Destination destination;
    bool follows; // as in RowArguments
    std::uint64_t flip;
    Finish finish;
};

} // namespace wr::cuda
