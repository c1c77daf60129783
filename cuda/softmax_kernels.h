// The softmax kernels of one element type, as the launcher sees them; all take SoftmaxArguments.
#pragma once

#include "cuda/softmax_arguments.h"

namespace wr::cuda {

// The blocks of threads that a row in registers may have, smallest first.
inline constexpr int softmax_block_sizes = 4;
inline constexpr int softmax_block_threads[softmax_block_sizes] = {128, 256, 512, 1024};

// One for rows that 16-byte vectors can read and write, one for all others.
struct SoftmaxRowKernels {
    const void *rows[2][softmax_block_sizes]; // [log]
    const void *piece_states;
    const void *apply[2]; // [log]
};

struct SoftmaxKernels {
    SoftmaxRowKernels vectors;
    SoftmaxRowKernels singles;
    const void *totals;
    const void *column_states;
    const void *column_apply;
    int element_bytes;
};

template <class T>
const SoftmaxKernels &softmax_kernels();

// The set for an input type; nullptr where there is none.
const SoftmaxKernels *find_softmax_kernels(ElementType dtype);

} // namespace wr::cuda
