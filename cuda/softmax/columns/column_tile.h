// Softmax of columns so short that the registers of a block or a cluster hold some of them, or their logsumexp alone:
// read once, written once.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/rowwise/column_tile_plan.h"
#include "cuda/softmax/arguments.h"
#include "numerics/problem.h"

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

} // namespace wr::cuda
