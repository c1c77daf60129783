// What vector_kernels.cpp and mapped_kernels.cpp offer, once for every instruction set that they are compiled for.
//
// A kernel works on panels: up to panel_width outputs (softmax: rows) that are neighbours along `inner`. Panels are
// numbered outer-major. A job's axis may also be cut into pieces that start at multiples of a power of two: their
// partial results, in order, are combined by `merge`.
#pragma once

#include "numerics/exact_sum.h"
#include "numerics/finish.h"
#include "numerics/problem.h"

namespace wr::host {

// How a panel's elements lie in memory.
enum class Access {
    rows,     // each output's axis is contiguous
    columns,  // inner is contiguous and long enough for vectors across it
    gathered, // anything else
};

struct Panels {
    std::size_t width;     // outputs in all but the last of each outer index
    std::size_t per_outer; // panels of one outer index
};

// Memory for the levels of the trees of a panel of columns, (levels + 3) rows of accumulators: as much as stays in the
// second-level cache and fits any thread's stack. No panel has more than widest_panel bytes of accumulators.
inline constexpr std::size_t column_levels_bytes = 64 * 1024;
inline constexpr std::size_t widest_panel = 4096;

// Softmax of rows side by side: the tile that they are computed in, which fits any thread's stack, and the most groups
// of 64 bytes that are loaded at once.
inline constexpr std::size_t lane_tile_bytes = 128 * 1024;
inline constexpr std::size_t lane_groups = 8;

// Levels of the tree over the blocks of rows that are lane_groups groups; of twice as many levels half as many groups.
inline constexpr std::size_t block_levels = 8;

// Softmax: rows of so many elements and more are computed one at a time.
inline constexpr std::size_t shortest_lone_row = 256;

struct ReduceJob {
    const void *input;
    void *output;
    Shape shape;
    Access access;
    Panels panels;
    Mapping mapping;
    Finish finish;
    bool as_state; // the output takes accumulators as a state has them
};

struct SegmentsJob {
    const void *input;
    void *output;
    const void *offsets;
    ElementType offsets_type;
    Mapping mapping;
    Finish finish; // but for the axis, which is each segment's own
};

struct ReduceKernel {
    std::size_t accumulator_size;
    // Reduces and stores the outputs of panels first .. last - 1.
    void (*reduce)(const ReduceJob &job, std::size_t first, std::size_t last);
    // Reduces `count` elements of the axis, from `first` on, into one accumulator for each output of the panel.
    void (*piece)(const ReduceJob &job, std::size_t panel, std::size_t first, std::size_t count, void *accumulators);
    // Combines the accumulators of all pieces of a panel, [pieces][panels.width], and stores the outputs.
    void (*merge)(const ReduceJob &job, std::size_t panel, std::size_t pieces, const void *accumulators);
    // Reduces and stores segments first .. last - 1.
    void (*segments)(const SegmentsJob &job, std::size_t first, std::size_t last);
};

// The outputs of a panel of an exact sum, whose words fit any thread's stack.
inline constexpr std::size_t exact_panel = 16;

struct ExactJob {
    const void *input;
    const void *weights; // nullptr: none
    void *output;
    Shape shape;
    Panels panels; // of exact_panel
    ExactLayout layout;
    ElementType type, output_type;
    bool ignore_nan;
    bool as_state; // the output takes settled words
};

struct SoftmaxJob {
    const void *input;
    void *output;    // or nullptr
    void *logsumexp; // or nullptr
    void *maximum;   // or nullptr
    Shape shape;
    std::ptrdiff_t output_outer_stride, output_axis_stride, output_inner_stride;
    Access access; // rows, or gathered for all else
    Panels panels;
    ElementType input_type, output_type, logsumexp_type;
    bool log, empty_row_zero;
    double scale;
    Selection selection;
    std::size_t rows_an_outer; // rows of one outer index, as the caller counts them
    std::size_t axis_first;    // elements of the whole rows before the axis, which is a piece of them
    const void *scales;        // as in SoftmaxProblem
    bool past_caches;          // for which the outputs are too many: of rows side by side
};

struct SoftmaxKernel {
    std::size_t state_size;
    std::size_t lanes; // a group of rows side by side, where access is gathered
    // The whole of panels first .. last - 1.
    void (*softmax)(const SoftmaxJob &job, std::size_t first, std::size_t last);
    // The states of a piece of the axis, one for each row of the panel.
    void (*piece)(const SoftmaxJob &job, std::size_t panel, std::size_t first, std::size_t count, void *states);
    // Combines the states of all pieces, [pieces][panels.width], into those of the whole rows, which may take the first
    // piece's place, and stores logsumexp.
    void (*merge)(const SoftmaxJob &job, std::size_t panel, std::size_t pieces, const void *states, void *whole);
    // Stores the outputs of a piece of the axis, given the states of the whole rows and of the piece.
    void (*write)(const SoftmaxJob &job, std::size_t panel, std::size_t first, std::size_t count, const void *whole,
                  const void *states);
};

// Rows are numbered as [outer][inner]. A panel is one of them, or several that are neighbours in all arrays.
struct SoftmaxBackwardJob {
    SoftmaxBackwardProblem problem;
    std::ptrdiff_t result_outer_stride, result_axis_stride, result_inner_stride; // of the input's gradient
    Panels panels;
    bool past_caches; // for which the gradients are too many: of rows side by side
};

struct SoftmaxBackwardKernel {
    std::size_t sum_size;
    std::size_t lanes, most_lanes; // a group of rows side by side, and the most rows of a panel
    // The whole of panels first .. last - 1.
    void (*panels)(const SoftmaxBackwardJob &job, std::size_t first, std::size_t last);
    // The sums over a piece of the axis, one for each row of the panel.
    void (*piece)(const SoftmaxBackwardJob &job, std::size_t panel, std::size_t first, std::size_t count, void *sums);
    // Combines the sums of all pieces, [pieces][width], into the first piece's.
    void (*merge)(std::size_t pieces, std::size_t width, void *sums);
    // Stores the gradients of a piece of the axis, given the sums of the whole rows.
    void (*write)(const SoftmaxBackwardJob &job, std::size_t panel, std::size_t first, std::size_t count,
                  const void *sums);
};

// Each finds nullptr where the combination is not offered.
struct Kernels {
    const ReduceKernel *(*reduce)(const Reduction &what);
    const SoftmaxKernel *(*softmax)(ElementType dtype);
    const SoftmaxBackwardKernel *(*softmax_backward)(ElementType dtype);
    // Exact sums are always there: sums and stores the outputs of panels first .. last - 1,
    void (*sum_exact_panels)(const ExactJob &job, std::size_t first, std::size_t last);
    // or adds `count` elements of the axis, from `first` on, to the words of each output of the panel.
    void (*add_exact_piece)(const ExactJob &job, std::size_t panel, std::size_t first, std::size_t count,
                            std::int64_t *words);
};

namespace baseline {
extern const Kernels kernels;
}
namespace avx2 {
extern const Kernels kernels;
}
namespace avx512 {
extern const Kernels kernels;
}

// The variants that this processor can run, from the least to the best.
inline constexpr std::size_t most_variants = 3;
struct Variants {
    std::size_t count;
    const Kernels *kernels[most_variants];
};
Variants usable_variants();

// The last of them, looked up once.
const Kernels &best_kernels();

} // namespace wr::host
