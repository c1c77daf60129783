// The kernels of softmax of short columns, as the launcher sees them; all take ShortColumnSoftmaxArguments. Plain data:
// host and GPU share it.
#pragma once

#include "cuda/short_column_tiles.h"
#include "cuda/softmax_arguments.h"

namespace wr::cuda {

struct ShortColumnSoftmaxArguments {
    SoftmaxArguments softmax; // output: nullptr where nothing but the logsumexp is wanted
    ShortColumnTiles tiles;
    ShortColumnMemory memory;
    ElementType logsumexp_type;
};

// What the outputs of a column are made with: of softmax its factor, of log-softmax its logsumexp. A high piece that is
// NaN: all of them are the low one.
struct ShortColumnPieces {
    float high, low;
};

// What a block keeps of each column.
struct ShortColumnKept {
    ShortColumnPieces pieces;
    float maximum;
};

inline constexpr int short_column_softmax_kernels_of_a_kind = 2;

struct ShortColumnSoftmaxKernels {
    // [of more than softmax's outputs][whole], of the least rows and twice as many
    const void *of[2][2][short_column_softmax_kernels_of_a_kind];
    int least_rows;
    std::size_t each, sum_bytes; // columns of a thread, bytes of a sum
};

template <class T>
const ShortColumnSoftmaxKernels &short_column_softmax_kernels();

} // namespace wr::cuda
