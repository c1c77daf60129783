// What the kernels for softmax of short rows of any kind and for its gradient are launched with. Plain data: host and
// GPU share it.
#pragma once

#include "numerics/problem.h"

namespace wr::cuda {

inline constexpr std::size_t slots_of_warp = 1024;
inline constexpr int striped_block_warps = 4;

// A warp's rows in its registers.
struct StripedRows {
    std::int32_t log_registers; // log2 of the registers that a row takes in each lane, or of the lanes that it has
    std::uint32_t begins;       // a bit a register: whether it is a row's first
};

// The arrays are contiguous.
struct StripedSoftmaxArguments {
    SoftmaxProblem problem;
    StripedRows rows;
};

struct StripedBackwardArguments {
    SoftmaxBackwardProblem problem;
    StripedRows rows;
};

// Whose sums are f64 (of f32 logits), and f32.
const void *striped_softmax_kernel_f64();
const void *striped_softmax_kernel_f32();
const void *striped_backward_kernel();

// The same of rows of neighbouring elements, of one length or ragged; gradients of the latter.
const void *blocked_softmax_kernel_f64();
const void *blocked_softmax_kernel_f32();
const void *blocked_backward_kernel();

} // namespace wr::cuda
