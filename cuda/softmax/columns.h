// Softmax of columns, by tiles that registers hold, read twice, or shared by all multiprocessors: launches, and what
// the kernels are launched with. Plain data: host and GPU share it.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/rowwise/column_plan.h"
#include "cuda/softmax/arguments.h"
#include "numerics/problem.h"

#include <cstddef>
#include <cstdint>

namespace wr::cuda {

// Where they are not such, or the GPU has not the shared memory, nothing is launched and `supported` is false.
cudaError_t launch_column_tiles(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream,
                                bool *supported);

struct ColumnTileSoftmaxArguments {
    SoftmaxArguments softmax; // output: nullptr where nothing but the logsumexp is wanted
    ColumnTiles tiles;
    ColumnTileMemory memory;
    ElementType logsumexp_type;
};

// The same of columns whose masks, lengths or causal limit leave elements out.
struct MaskedColumnTileArguments : ColumnTileSoftmaxArguments {
    Selection selection;
};

// What the outputs of a column are made with: of softmax its factor, of log-softmax its logsumexp. A high piece that is
// NaN: all of them are the low one.
struct ColumnTilePieces {
    float high, low;
};

// What a block keeps of each column.
struct ColumnTileKept {
    ColumnTilePieces pieces;
    float maximum;
};

struct ColumnTileSoftmaxKernel {
    const void *kernel;
    int most_threads; // of a block
};

// In the order in which kernels of a kind stand: of the least rows of a thread, of twice as many, of those by blocks
// that have their tiles to themselves.
enum ColumnTileSoftmaxRows : std::int8_t { of_least_rows, of_most_rows, of_own_tiles };

struct ColumnTileSoftmaxKernels {
    using OfAKind = ColumnTileSoftmaxKernel[of_own_tiles + 1];

    OfAKind of[2][2]; // [of more than softmax's outputs][whole]
    OfAKind masked;   // for MaskedColumnTileArguments: whatever is wanted of whole vectors
    int least_rows;
    std::size_t each;          // columns of a thread
    std::size_t left_bytes[2]; // of what threads leave each other of a column [of more than softmax's outputs]
};

template <class T>
void set_masked_column_tiles(ColumnTileSoftmaxKernels::OfAKind &of);
template <class T>
const ColumnTileSoftmaxKernels &column_tile_softmax_kernels();

// Softmax and log-softmax of columns of any length, of whole vectors: their states, the totals of these, their outputs.

struct SoftmaxTwoPassColumnArguments {
    SoftmaxArguments softmax; // splits: tiles of a column
    TwoPassColumnTiles tiles;
    std::uint32_t count; // of all tiles, which blocks take in turn where there are fewer
};

struct SoftmaxTwoPassColumnKernels {
    const void *states, *outputs;
};

template <class T>
const SoftmaxTwoPassColumnKernels &softmax_two_pass_column_kernels();

// The parts that such a job has, each a block's; 0 where these kernels do not serve it.
std::size_t two_pass_column_tiles(const SoftmaxProblem &problem);

// Whether they serve it as a logsumexp alone, and the launch that leaves the state of each tile.
bool serves_two_pass_column_states(const SoftmaxProblem &problem);
cudaError_t launch_two_pass_column_states(const SoftmaxProblem &problem, StoredState *states, bool dependent,
                                          cudaStream_t stream);

// `totals` makes a.totals of a.states, and the logsumexp where that is wanted. No more than `most` blocks, which take
// the parts in turn.
cudaError_t launch_two_pass_columns(const SoftmaxProblem &problem, const SoftmaxArguments &a, std::size_t most,
                                    const Launch &totals, bool dependent, cudaStream_t stream);

// Softmax of tall columns that all multiprocessors share, so that they are read once.

// For what multiprocessors tell each other, and for the states of columns that are left; 0 where they are not
// supported.
std::size_t most_lookback_columns_bytes(const SoftmaxProblem &problem);

// Columns of whole vectors of which softmax alone is wanted, where they are tall and many enough; else, or where the
// GPU does not hold such blocks, nothing is launched and `supported` is false. `totals` as in
// launch_two_pass_columns.
cudaError_t launch_lookback_columns(const SoftmaxProblem &problem, const SoftmaxArguments &a, const Launch &totals,
                                    const GpuFacts &gpu, cudaStream_t stream, bool *supported);

// A panel is what lies below 64 columns side by side, 256 bytes a row; a multiprocessor takes it in tiles.
inline constexpr std::uint32_t shared_panel_columns = 64;
inline constexpr std::uint32_t shared_tile_rows = 128;

// Of columns no longer than this the bounds are proven between which no frame of a tile is needed.
inline constexpr std::size_t lookback_columns_most_axis = std::size_t{1} << 17;

struct LookbackColumnsArguments {
    SoftmaxArguments softmax;
    std::uint64_t *sums;    // [ring][down][shared_panel_columns], what each tile comes to, of some panels in turn
    std::uint64_t *factors; // [panels][shared_panel_columns], two pieces each; NaN: left to other kernels
    std::uint64_t *drawn;   // LookbackColumnTickets less 1; absent_word for a start
    std::uint64_t *left;    // how often some columns had to be left to other kernels, less 1; absent_word for a start
    std::uint32_t across, down; // panels of one array [axis][inner], tiles of a panel
    std::uint32_t panels;       // of all arrays
    std::uint32_t ring;         // panels whose sums there is room for
};

struct LookbackColumnsKernel {
    const void *kernel;
    std::size_t threads, shared_bytes;
    std::size_t waiting_tiles; // of a multiprocessor, until their columns' sums are known
};

const LookbackColumnsKernel &lookback_columns_kernel();

} // namespace wr::cuda
