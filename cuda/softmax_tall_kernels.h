// The kernels of columns of any length, as the launcher sees them; all take SoftmaxTallArguments.
#pragma once

#include "cuda/softmax_arguments.h"
#include "cuda/tall_tiles.h"

namespace wr::cuda {

// Where another kernel has served most columns: vectors of columns whose first has a factor that is no number are left
// (SharedColumnsArguments). nullptr: all are.
struct TallColumnsLeft {
    const std::uint64_t *factors;
    std::size_t columns; // that have one in each array [axis][inner]
    std::size_t blocks;  // that look for them: most often there are none
};

struct SoftmaxTallArguments {
    SoftmaxArguments softmax; // pieces: base blocks of a column
    TallTiles tiles;
    std::uint32_t count; // of all tiles, which blocks take in turn where there are fewer
    TallColumnsLeft left;
};

struct SoftmaxTallKernels {
    const void *states;
    const void *outputs[2]; // [log]
};

template <class T>
const SoftmaxTallKernels &softmax_tall_kernels();

} // namespace wr::cuda
