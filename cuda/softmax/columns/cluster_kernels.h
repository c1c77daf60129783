// The kernels of column clusters, as the launcher sees them; all take SoftmaxColumnArguments. Not of log-softmax.
#pragma once

#include "cuda/softmax/arguments.h"

namespace wr::cuda {

struct SoftmaxColumnArguments {
    SoftmaxArguments softmax;
    std::uint32_t tiles_across, tiles;
    std::uint32_t resident_clusters; // which take a round of tiles
    std::int32_t log_parts;          // of a column, each with a state: at least as many as there are, a power of two
};

// Tiles of columns of whole vectors, shared by the blocks of clusters that go from tile to tile: what a block has of
// one, and the shared memory that it takes.
struct SoftmaxColumnKernel {
    const void *kernel;
    std::size_t threads, columns, rows;
    std::size_t parts; // tiles below each other: 1 where there is less than one
    std::size_t fixed_bytes, state_bytes;
    std::size_t most_blocks; // of a cluster
};

// Of the tiles that are left, what a round of clusters takes: each round costs the filling of its clusters.
inline constexpr std::uint32_t column_round_eighths = 6;

// The first that fits is taken.
struct SoftmaxColumnKernels {
    SoftmaxColumnKernel kernels[2];
    int count;
};

template <class T>
const SoftmaxColumnKernels &softmax_column_kernels();

} // namespace wr::cuda
