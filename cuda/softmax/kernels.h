// The softmax kernels of one element type, as the launcher sees them; all take SoftmaxArguments.
#pragma once

#include "cuda/softmax/arguments.h"
#include "numerics/softmax.h"

namespace wr::cuda {

// Rows in the registers of one block: kernel `size` serves rows of up to 2^size warps.
inline constexpr int softmax_row_sizes = 6;

// Rows in the registers of a cluster: the warps that its blocks may have.
inline constexpr int softmax_cluster_sizes = 3;
inline constexpr int softmax_cluster_warps[softmax_cluster_sizes] = {8, 16, 32};

// The same for rows of more than 32 states and no more than these, whose total every warp makes by itself instead of
// waiting for one that does. Not of log-softmax.
inline constexpr int softmax_redundant_combine_sizes = 2;
inline constexpr std::size_t softmax_redundant_combine_states[softmax_redundant_combine_sizes] = {64, 128};
struct SoftmaxRedundantCombineKernels {
    const void *of[softmax_redundant_combine_sizes]; // nullptr: not supported
    std::size_t warps;                               // of a block at most
    std::size_t most_states_of_few;                  // where clusters are few, rows of more are left to the others
};

// Many rows that all multiprocessors share, a block on each. A block's warps take a tile each a turn; groups of
// them, which begin where a row does, publish one state, and a row's exponentials wait some turns for its total.
inline constexpr std::size_t softmax_lookback_states = 256;      // of a row at most
inline constexpr std::size_t softmax_lookback_largest_group = 8; // tiles: a power of two, as all are
inline constexpr std::size_t softmax_lookback_most_row_tiles = softmax_lookback_states * softmax_lookback_largest_group;
struct SoftmaxLookbackKernel {
    const void *kernel; // nullptr: not supported
    std::size_t threads, shared_bytes, warps, deferred_turns;
};

// Warps that a block may have where rows are off the boundaries, or outputs of another type: each brings its elements
// by way of shared memory.
inline constexpr std::size_t softmax_unaligned_warps = 8;
// Of clusters that share such rows, blocks of f32 and 16-bit elements may have twice as many.
constexpr std::size_t unaligned_cluster_warps(std::size_t element_bytes) {
    return element_bytes < 8 ? 2 * softmax_unaligned_warps : softmax_unaligned_warps;
}
struct SoftmaxRowKernels {
    const void *rows[2][softmax_row_sizes];         // [log]
    int rows_of_block[2];                           // [log]; rows of one tile that share a block
    const void *clusters[2][softmax_cluster_sizes]; // [log]; nullptr: not supported
    SoftmaxRedundantCombineKernels combines_redundantly;
    SoftmaxLookbackKernel lookback[2][2]; // [log][many states]
    std::size_t stage_bytes;              // of shared memory that each warp of these gets by its launch
};

// Columns in the registers of a block or a cluster, each thread softmax_tile_run elements of one: the threads of a
// block and the columns side by side.
struct SoftmaxTile {
    int threads, columns;
};
inline constexpr std::size_t softmax_tile_run = 32;
inline constexpr int softmax_tile_sizes = 2;
inline constexpr SoftmaxTile softmax_tiles[softmax_tile_sizes] = {{512, 16}, {1024, 8}};

struct SoftmaxRegisterTileKernels {
    const void *of[softmax_tile_sizes]; // nullptr: not supported
};

// Short rows that touch each other. Packed: of whole vectors on their boundaries; staged: of whole vectors wherever
// they start; of a lane: of any length and alignment, each one lane's; tiny: those of a few elements; any: likewise, of
// several lanes or one.
struct SoftmaxShortRowKernels {
    const void *packed[2], *staged[2], *of_a_lane[2]; // [log]; nullptr: not supported
    const void *tiny[2][2];                           // [of more elements][log]
    const void *any[2];                               // [log]
};
inline constexpr std::size_t softmax_short_row_warps = 4; // of a block

// Elements of the longest tiny rows, and how many of each lane a warp has at most.
inline constexpr std::size_t softmax_tiny_row_axis[2] = {4, 8};
inline constexpr std::size_t softmax_tiny_row_batches = 4;

// Elements of rows that are neither packed nor staged that a warp's stage holds.
constexpr std::size_t softmax_short_row_elements(std::size_t element_bytes) {
    return element_bytes == 2 ? 2560 : element_bytes == 4 ? 1600 : 1088;
}

// Rows of any length at any address, read twice, and the totals of all that is not done in one launch.
struct SoftmaxTwoPassRowKernels {
    const void *split_states, *totals;
    const void *apply[2];    // [into another type]
    std::size_t stage_bytes; // as above
};

// Rows of vectors whose outputs are of another type, and packed: short rows of f32 into any type, of 16 bits into f32.
// None of f64.
struct SoftmaxConvertedKernels {
    SoftmaxRowKernels rows;
    const void *packed[2]; // [log]
};

struct SoftmaxKernels {
    SoftmaxRowKernels vectors;   // rows of whole vectors on their boundaries
    SoftmaxRowKernels unaligned; // rows of neighbours at any address
    SoftmaxConvertedKernels converted;
    SoftmaxRowKernels unaligned_converted; // none of f64 either
    SoftmaxTwoPassRowKernels two_pass_rows;
    SoftmaxShortRowKernels short_rows;
    SoftmaxRegisterTileKernels tiles;
    int element_bytes;
};

// The set for an input type; nullptr where there is none.
const SoftmaxKernels *find_softmax_kernels(ElementType dtype);

// The kinds of kernels that sets are put together of, each in sources of its own. Of rows of vectors those of blocks,
// and those of clusters and all multiprocessors.
template <class T>
void softmax_cta_rows(SoftmaxRowKernels &kernels);
template <class T>
void softmax_cluster_rows(SoftmaxRowKernels &kernels);
template <class T>
SoftmaxRowKernels softmax_unaligned_kernels();
template <class T>
SoftmaxRowKernels softmax_unaligned_converted_kernels();
template <class T>
SoftmaxConvertedKernels softmax_converted_kernels();
template <class T>
SoftmaxTwoPassRowKernels softmax_two_pass_row_kernels();
template <class T>
SoftmaxShortRowKernels softmax_short_row_kernels();
template <class T>
void set_thread_rows(SoftmaxShortRowKernels &kernels); // but f64
template <class T>
SoftmaxRegisterTileKernels softmax_register_tile_kernels();

} // namespace wr::cuda
