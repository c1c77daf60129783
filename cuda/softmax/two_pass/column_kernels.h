// The kernels of columns of any length, as the launcher sees them; all take SoftmaxTwoPassColumnArguments.
#pragma once

#include "cuda/rowwise/two_pass_columns_plan.h"
#include "cuda/softmax/arguments.h"

namespace wr::cuda {

struct SoftmaxTwoPassColumnArguments {
    SoftmaxArguments softmax; // splits: tiles of a column
    TwoPassColumnTiles tiles;
    std::uint32_t count; // of all tiles, which blocks take in turn where there are fewer
};

struct SoftmaxTwoPassColumnKernels {
    const void *states;
    const void *outputs[2]; // [log]
};

template <class T>
const SoftmaxTwoPassColumnKernels &softmax_two_pass_column_kernels();

} // namespace wr::cuda
