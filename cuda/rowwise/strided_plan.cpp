#include "cuda/rowwise/strided_plan.h"

#include "cuda/common/warp.h"
#include "cuda/rowwise/policy.h"
#include "cuda/rowwise/row_tiles_plan.h"
#include "numerics/softmax.h"

#include <bit>

namespace wr::cuda {

namespace {

constexpr std::size_t block_warps = strided_block_warps;

// Longer rows are shared by several blocks of threads.
constexpr std::size_t most_blocks_of_one_row = 32;

// Blocks of threads that keep any GPU busy: while there are as many splits, each may be longer.
constexpr std::size_t enough_pieces = 2048;
constexpr std::size_t most_tiles_a_warp = 32; // a warp keeps one state a lane

// Of ragged rows the elements of all are known: a block should have no more warps than rows of twice the mean length
// take at once, but where a warp takes most rows by itself (gradients of rows of 0 to 4096, H200: f32 2.43 TB/s, with
// block_warps 1.64, bf16 1.05 and 0.73). A power of two: what longer rows are taken in steps of is a part of their
// tree.
std::size_t ragged_row_warps(const Shape &shape) {
    const std::size_t mean = divide_up(shape.axis, std::max<std::size_t>(shape.outer, 1));
    return mean <= softmax_block / 2 ? block_warps
                                     : std::min(2 * std::bit_ceil(divide_up(mean, softmax_block)), block_warps);
}

std::size_t grid_of(std::size_t jobs, std::size_t jobs_a_block) {
    return std::min(divide_up(jobs, jobs_a_block), most_blocks);
}

// Columns that threads hold; not `supported` where they are too long, or too many for one launch.
template <class Arguments>
cudaError_t launch_resident_columns(const StridedKernels &kernels, const StridedPlan &plan, std::size_t axis,
                                    Arguments &a, cudaStream_t stream, bool *supported) {
    const std::size_t warps = divide_up(axis, static_cast<std::size_t>(kernels.resident_elements));
    const std::size_t groups = std::max<std::size_t>(block_warps / warps, 1);
    const std::size_t blocks = divide_up(plan.rows, groups * warp_threads);
    *supported = warps <= resident_column_warps && blocks <= most_blocks;
    if (!*supported) {
        return cudaSuccess;
    }
    return launch({kernels.resident_columns, blocks, static_cast<int>(warps * warp_threads), static_cast<int>(groups)},
                  &a, stream);
}

template <class Arguments>
cudaError_t launch_any(const StridedKernels &kernels, const StridedPlan &plan, bool writes, Arguments &a,
                       cudaStream_t stream) {
    if (plan.regime == StridedRegime::rows) {
        const std::size_t thread_rows = plan.warps == 1 ? block_warps : 1;
        const std::size_t ragged_rows = static_cast<std::size_t>(a.longer.least != 0 ? a.longer.among : plan.warps);
        const std::size_t rows_a_block = plan.ragged ? ragged_rows : thread_rows;
        return launch(
            {kernels.rows, grid_of(plan.rows, rows_a_block), plan.warps * warp_lanes, static_cast<int>(thread_rows)},
            &a, stream);
    }
    const bool columns = plan.regime == StridedRegime::columns, whole = plan.has_whole_columns();
    if (whole) {
        bool supported = false;
        const cudaError_t error = launch_resident_columns(kernels, plan, a.problem.shape.axis, a, stream, &supported);
        if (error != cudaSuccess || supported) {
            return error;
        }
    }
    const std::size_t jobs = plan.rows * (columns ? plan.blocks : plan.splits);
    const Launch of_all{columns ? kernels.columns : kernels.splits, grid_of(jobs, columns ? strided_block_threads : 1),
                        strided_block_threads};
    a.applies = false;
    a.splits = whole ? 0 : plan.splits;
    cudaError_t error = launch(of_all, &a, stream);
    if (error == cudaSuccess && !whole) {
        error = launch({kernels.totals, grid_of(plan.rows, block_warps), strided_block_threads}, &a, stream);
    }
    if (error == cudaSuccess && !whole && writes) {
        a.applies = true;
        error = launch(of_all, &a, stream);
    }
    return error;
}

} // namespace

StridedPlan plan_general(const Shape &shape, bool ragged) {
    const std::size_t rows = shape.outer * shape.inner;
    StridedPlan plan{StridedRegime::rows, rows,  divide_up(shape.axis, softmax_block), 0, 1,
                     strided_block_warps, ragged};
    if (ragged) {
        plan.warps = static_cast<int>(ragged_row_warps(shape));
        return plan;
    }
    if (shape.inner > 1 && shape.axis > 0) {
        plan.regime = StridedRegime::columns;
        plan.splits = shape.axis <= softmax_whole_column_axis ? 0 : plan.blocks;
        return plan;
    }
    if (plan.blocks <= most_blocks_of_one_row) {
        plan.warps = static_cast<int>(std::clamp<std::size_t>(plan.blocks, 1, block_warps));
        return plan;
    }
    plan.regime = StridedRegime::splits;
    const std::size_t shortest_pieces = divide_up(plan.blocks, block_warps);
    while (plan.tiles_a_warp < most_tiles_a_warp &&
           rows * divide_up(shortest_pieces, plan.tiles_a_warp * 2) >= enough_pieces) {
        plan.tiles_a_warp *= 2;
    }
    plan.splits = divide_up(shortest_pieces, plan.tiles_a_warp);
    return plan;
}

RowTilesPlan plan_whole_rows(const StridedKernels &kernels, const Shape &shape, bool ragged, const GpuFacts &gpu) {
    if (kernels.whole_rows == nullptr || ragged || shape.inner != 1 || shape.axis == 0) {
        return {};
    }
    return plan_row_tiles(
        shape.outer, divide_up(shape.axis, softmax_block),
        {strided_row_warps, block_warps, rowwise_policy(gpu).least_cluster_warps, softmax_preferred_cluster_warps},
        gpu);
}

std::size_t general_workspace_bytes(const StridedPlan &plan, std::size_t state_bytes) {
    constexpr std::size_t alignment = 16;
    return plan.splits == 0 ? 0
                            : divide_up(plan.rows * plan.splits * state_bytes, alignment) * alignment +
                                  divide_up(plan.rows * state_bytes, alignment) * alignment;
}

cudaError_t launch_strided(const StridedKernels &kernels, const StridedPlan &plan, bool writes,
                           StridedSoftmaxArguments &arguments, cudaStream_t stream) {
    return launch_any(kernels, plan, writes, arguments, stream);
}

cudaError_t launch_strided(const StridedKernels &kernels, const StridedPlan &plan, bool writes,
                           SoftmaxBackwardArguments &arguments, cudaStream_t stream) {
    return launch_any(kernels, plan, writes, arguments, stream);
}

} // namespace wr::cuda
