// Softmax of tall columns that all multiprocessors share, so that they are read once.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/softmax/arguments.h"
#include "numerics/problem.h"

#include <cstddef>
#include <cstdint>

namespace wr::cuda {

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
