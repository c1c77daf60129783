#include "cuda/softmax/rows/cooperative_rows.h"

#include "cuda/common/launch.h"
#include "cuda/common/tuning.h"
#include "cuda/common/warp.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

// Softmax of rows that all multiprocessors hold together: where their blocks have all the warps that a block may have,
// there is at most one idle multiprocessor in so many (H200, 1 x 3000000 f32, 40 of 132 idle: 14.4 us, by three
// launches 13.1; 1 x 4 Mi, 4 idle: 15.2 and 17.5).
constexpr std::size_t softmax_grid_busy_for_an_idle = 4;

constexpr std::size_t most_warps = 32;                                          // of a block
constexpr std::size_t most_cluster_tiles = tuning::cluster_blocks * most_warps; // tiles of a cluster's row

// A grid of as many blocks a row as multiprocessors allow; without threads where they do not hold the rows.
Launch grid_of(const void *kernel, std::size_t rows, std::size_t row_tiles, const GpuFacts &gpu) {
    const auto multiprocessors = static_cast<std::size_t>(gpu.multiprocessors);
    const std::size_t blocks_a_row = std::min<std::size_t>(multiprocessors / rows, softmax_cooperative_row_states);
    Launch how{kernel, 0, 0, 1, rows};
    if (blocks_a_row != 0) {
        const std::size_t warps = std::bit_ceil(divide_up(row_tiles, blocks_a_row));
        how.blocks = divide_up(row_tiles, warps);
        const std::size_t idle = multiprocessors - how.blocks * rows;
        const bool busy = warps < most_warps || idle * softmax_grid_busy_for_an_idle <= multiprocessors;
        how.threads = warps <= most_warps && busy ? static_cast<int>(warps * warp_threads) : 0;
    }
    return how;
}

} // namespace

std::size_t most_cooperative_row_bytes(const SoftmaxProblem &problem) {
    const Shape &s = problem.shape;
    const std::size_t row_tiles = divide_up(s.axis, softmax_block);
    const bool fits = s.outer <= tuning::most_multiprocessors && row_tiles <= most_warps * tuning::most_multiprocessors;
    return s.inner == 1 && row_tiles > most_cluster_tiles && fits
               ? s.outer * std::min<std::size_t>(row_tiles, softmax_cooperative_row_states) * sizeof(StoredState)
               : 0;
}

cudaError_t launch_cooperative_rows(const SoftmaxRowKernels &rows, const SoftmaxProblem &problem, SoftmaxArguments a,
                                    const SoftmaxPlan &plan, const GpuFacts &gpu, cudaStream_t stream, bool *served) {
    *served = false;
    const void *const kernel = rows.cooperative_rows[problem.log ? 1 : 0];
    // Not on GPUs without clusters, which were never asked how quick it would be.
    if (plan.regime != SoftmaxRegime::two_pass_rows || gpu.cluster_blocks == 0 || kernel == nullptr ||
        problem.output == nullptr) {
        return cudaSuccess;
    }
    const Launch how = grid_of(kernel, problem.shape.outer, plan.tiles, gpu);
    if (how.threads == 0) {
        return cudaSuccess;
    }
    int resident = 0;
    cudaError_t error = prepare_clusters(how, gpu, &resident);
    if (error != cudaSuccess || how.blocks * how.block_rows > static_cast<std::size_t>(resident)) {
        return error;
    }
    const std::size_t bytes = how.blocks * how.block_rows * sizeof(StoredState);
    Workspace workspace(problem, bytes, stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    a.states = static_cast<StoredState *>(workspace.take(bytes));
    error = launch_together(how, &a, stream, served);
    const cudaError_t freed = workspace.finish();
    return error != cudaSuccess ? error : freed;
}

} // namespace wr::cuda
