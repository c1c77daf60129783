// What the kernels for softmax of rows of whole 16-byte vectors, of which some elements may take no part, are launched
// with. Plain data: host and GPU share it.
#pragma once

#include "cuda/softmax_arguments.h"
#include "numerics/problem.h"

namespace wr::cuda {

// Of the arguments of plain softmax those of a row's place and arithmetic count.
struct SelectedSoftmaxArguments : SoftmaxArguments {
    const std::uint8_t *mask; // nullptr: none; the input is contiguous then
    const std::int64_t *lengths;
    bool causal;
    std::int64_t causal_first;
    std::uint32_t causal_rows;
    std::size_t rows_ahead; // whose lengths are asked for before their turn
};

// The kernels: for rows of a block, for rows of up to 32 base blocks by clusters, and for longer ones; and the warps
// along a row that a block of each may have. nullptr where the kernels for cut rows take all of these.
inline constexpr int selected_sizes = 3;
inline constexpr int selected_warps[selected_sizes] = {8, 8, 32};
inline constexpr std::size_t selected_few_blocks = 32;

struct SelectedSoftmaxKernels {
    const void *of[2][selected_sizes]; // [log]
};

// For rows of T whose outputs are of T.
template <class T>
const SelectedSoftmaxKernels &selected_softmax_kernels();

// For such rows of up to 512 elements, one behind the other: several to a warp.
struct SelectedShortKernels {
    const void *of[2]; // [log]
};
template <class T>
const SelectedShortKernels &selected_short_kernels();

// Where rows lie: whole 16-byte vectors on their boundaries, beside whole words of mask bytes; or anywhere.
enum class Lie { on_boundaries, anywhere };

// For rows of T of a block or of a cluster whose outputs are of T: the warps that a block may have, and the base blocks
// of a row. Of f32 rows on the boundaries those of a block are softmax_selected's.
inline constexpr int cut_rows_warps = 8;
inline constexpr int cut_cluster_states = 64;
struct CutRowsKernels {
    const void *of[2][2];          // [masked][log]
    const void *of_clusters[2][2]; // [masked][log]
};
template <class T, Lie Where>
const CutRowsKernels &cut_rows_kernels();

// For rows of T whose outputs are of another type; those of F16 for rows of 8 bits as well.
template <class T>
const SelectedSoftmaxKernels &converting_softmax_kernels();

} // namespace wr::cuda
