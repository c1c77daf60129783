// What the kernels of states are launched with. Plain data: host and GPU share it.
#pragma once

#include "cuda/softmax/arguments.h"
#include "cuda/state/judge.h"
#include "numerics/state_problem.h"

namespace wr::cuda {

inline constexpr int state_threads = 256;

// The accumulators of all nodes are there; the header is not.
struct StateSealArguments {
    StateHeader header;
    void *state;
    std::int32_t *check;
    StateKind kind;
    ExactLayout layout;
    std::uint64_t accumulators; // exact sums: outputs
    std::uint64_t first;        // of the piece
};

// Every block judges the states and then merges nodes. In place, where there are several, one judges before them.
struct StateMergeArguments {
    JudgeArguments judged;
    const void *left, *right;
    void *merged;
    StateKind kind;
    ExactLayout layout;
    NodeMerge nodes;
    std::size_t outputs;
    bool judges;
};

struct StateFinishArguments {
    JudgeArguments judged;
    const void *state;
    void *output;
    StateKind kind;
    ExactLayout layout;
    ElementType output_type;
    std::int32_t nodes;
    std::size_t outputs;
    Finish finish;
};

// By their addresses.
const void *seal_state_kernel();
const void *merge_states_kernel();
const void *finish_state_kernel();

// What the kernels of states of softmax are launched with.

inline constexpr int softmax_state_threads = 256;
inline constexpr int softmax_state_warps = softmax_state_threads / 32;

// Of the kernel for few rows, half as many in f64.
inline constexpr int most_few_rows_threads = 640;
inline constexpr int most_blocks_of_few_rows = 32;

// Two for each bit of a number of base blocks.
inline constexpr int most_softmax_runs = 110;

// Blocks of threads take jobs in turn.
struct SoftmaxStateArguments {
    SoftmaxProblem problem;
    SoftmaxArguments vectors; // the same for kernels that take base blocks of rows by vectors
    std::uint64_t first;
    SoftmaxStatePlaces places;
    void *payload;
    std::uint64_t states; // in front of the kept elements
    // Of each row's whole base blocks. A warp takes `1 << group` of them one after the other, up to a lane's each,
    // counted from block 0 of the whole row, and leaves their state in the place of the first; of a group that is cut
    // off, each block's.
    void *block_states;
    std::uint64_t first_block, blocks;
    std::uint64_t first_group, groups;
    std::int32_t group;
    std::int32_t run_lanes; // threads that make one run
    std::int32_t run_count;
    std::uint64_t run_begin[most_softmax_runs + 1]; // counted from the first block
    std::uint64_t edge_elements;                    // of all rows
    std::uint32_t edge_blocks;                      // the last blocks of threads take these, and one writes the header
    StateHeader header;
    std::int32_t *check; // nullptr: not wanted
};

// Words of 4 bytes of a state that is moved out of the way of what is merged into its place.
struct CopyStateArguments {
    const std::uint32_t *from;
    std::uint32_t *to;
    std::uint64_t words;
};

template <class Float, class Sum>
struct SoftmaxMergeArguments {
    JudgeArguments judged;
    SoftmaxStateView<Float, Sum> left, right;
    SoftmaxStatePlaces places;
    SoftmaxSeam seam, combined; // before and after the run at the seam is combined with others,
    std::int32_t steps;         // so many,
    std::uint64_t right_sides;  // of which those of the right neighbour have their bits set, the first the lowest
    KeptState<Sum> *states;
    typename ExponentialConstants<Float>::Bits *elements;
    std::uint64_t states_count, elements_count;
    std::uint32_t seam_blocks; // blocks of threads that make the run at the seam; all others copy
};

template <class Float, class Sum>
struct SoftmaxFinishArguments {
    JudgeArguments judged;
    SoftmaxStateView<Float, Sum> state;
    std::uint64_t runs, rows;
    void *output; // logsumexp, or nullptr
    ElementType output_type;
};

// Of each row, what its outputs are made with: the state of the whole, and the maxima of the base blocks that the
// piece's edges cut.
template <class Float, class Sum>
struct PieceTotals {
    RowState<Float, Sum> whole;
    Float left_maximum, right_maximum;
};

template <class Float, class Sum>
struct SoftmaxFromStateArguments {
    JudgeArguments judged; // by the kernel of totals, which leaves a verdict for that of outputs
    CutBlocks<Float, Sum> cut;
    SoftmaxArguments vectors; // as SoftmaxStateArguments has it
    SoftmaxStateView<Float, Sum> whole;
    std::uint64_t runs, rows;
    PieceTotals<Float, Sum> *totals;
    std::uint64_t blocks; // whole ones of each row
    bool totals_by_threads;
    std::uint64_t edge_elements; // of all columns
    std::uint32_t edge_blocks;   // the last blocks of threads take these
};

inline constexpr int softmax_totals_threads = 128;

// Of the kernel for few rows' outputs: a warp for the total, and one for each of some base blocks.
inline constexpr int most_few_outputs_threads = 256, least_few_outputs_threads = 128;

// Of one arithmetic, by their addresses.
struct SoftmaxStateKernels {
    const void *rows, *columns; // the states of base blocks of rows, and of columns
    const void *runs;           // of these the runs
    const void *merge;
    const void *finish;
    const void *totals, *row_outputs, *column_outputs;
};

const void *copy_state_kernel();

// Of rows of neighbours of one type, all of which take part.
struct SoftmaxVectorKernels {
    const void *rows;
    const void *row_outputs[2]; // plain, log
    std::size_t stage_bytes;    // of shared memory, of each warp
};
struct SoftmaxVectorStateKernels {
    SoftmaxVectorKernels aligned, unaligned; // on the boundaries of vectors, and off them
    const void *few_rows, *few_row_outputs;  // all of a state of few rows anywhere, not many blocks each; of outputs
};

template <class T>
const SoftmaxVectorStateKernels &softmax_vector_state_kernels();

// f32 logits, f64, and everything narrower.
template <class Float, class Sum>
const SoftmaxStateKernels &softmax_state_kernels();

} // namespace wr::cuda
