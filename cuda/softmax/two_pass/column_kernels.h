// The kernels of columns of any length, as the launcher sees them; all take SoftmaxTallArguments.
#pragma once

#include "cuda/rowwise/two_pass_columns_plan.h"
#include "cuda/softmax/arguments.h"

namespace wr::cuda {

struct SoftmaxTallArguments {
    SoftmaxArguments softmax; // pieces: base blocks of a column
    TallTiles tiles;
    std::uint32_t count; // of all tiles, which blocks take in turn where there are fewer
};

struct SoftmaxTallKernels {
    const void *states;
    const void *outputs[2]; // [log]
};

template <class T>
const SoftmaxTallKernels &softmax_tall_kernels();

} // namespace wr::cuda
