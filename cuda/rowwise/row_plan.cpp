#include "cuda/rowwise/row_plan.h"

#include "cuda/common/gpu_facts.h"
#include "cuda/rowwise/policy.h"
#include "numerics/softmax.h"

#include <bit>

namespace wr::cuda {

namespace {

constexpr std::size_t least_block_warps = 4; // where a row takes fewer, several share a block

RowTilesPlan plan_any_number(std::size_t rows, std::size_t blocks, const RowTileWarps &wanted, const GpuFacts &gpu) {
    const auto most_cluster = static_cast<std::size_t>(gpu.cluster_blocks);
    const bool few = are_few_tiles(rows * blocks, gpu);
    const bool spreads = few && rows < static_cast<std::size_t>(gpu.multiprocessors); // else each has a row
    const std::size_t most_of_one = most_cluster == 0 ? wanted.most
                                    : spreads         ? rowwise_policy(gpu).few_cta_warps
                                                      : wanted.of_one;
    if (blocks <= most_of_one) {
        return {1, blocks, blocks < least_block_warps ? least_block_warps / blocks : 1, gpu.dependent_launch, false};
    }
    if (blocks > most_cluster * wanted.most) {
        return {};
    }
    const bool is_long = blocks > warp_threads;
    const std::size_t least = is_long ? wanted.of_long_row : wanted.of_cluster;
    const ClusterSize cluster =
        cluster_of_row(rows, blocks, least, is_long ? least : softmax_preferred_cluster_warps, gpu);
    return {cluster.blocks, cluster.warps, 1, gpu.dependent_launch, !few};
}

} // namespace

ClusterSize cluster_of_row(std::size_t rows, std::size_t tiles, std::size_t least_warps, std::size_t most_warps,
                           const GpuFacts &gpu) {
    const auto blocks = static_cast<std::size_t>(gpu.cluster_blocks);
    const bool few = are_few_tiles(rows * tiles, gpu);
    const ClusterSize fullest = few ? ClusterSize{0, 0} : fullest_cluster(tiles, least_warps, most_warps, blocks);
    return fullest.blocks != 0 ? fullest : smallest_cluster(tiles, few ? 1 : most_warps, blocks);
}

RowTilesPlan plan_row_tiles(std::size_t rows, std::size_t blocks, const RowTileWarps &warps, const GpuFacts &gpu) {
    const RowTilesPlan plan = plan_any_number(rows, blocks, warps, gpu);
    const bool one_launch = plan.warps != 0 && rows <= most_blocks / plan.cluster_blocks * plan.rows_a_block;
    return one_launch ? plan : RowTilesPlan{};
}

RowTilesPlan plan_wide_cluster(std::size_t rows, std::size_t blocks, const GpuFacts &gpu) {
    if (blocks > softmax_wide_cluster_blocks * softmax_long_cluster_warps ||
        rows > most_blocks / softmax_wide_cluster_blocks) {
        return {};
    }
    const bool few = are_few_tiles(rows * blocks, gpu);
    const std::size_t warps = divide_up(blocks, softmax_wide_cluster_blocks);
    return {divide_up(blocks, warps), warps, 1, gpu.dependent_launch, !few};
}

Launch row_tiles_launch(const void *kernel, const RowTilesPlan &plan, std::size_t rows) {
    return {.kernel = kernel,
            .blocks = divide_up(rows, plan.rows_a_block) * plan.cluster_blocks,
            .threads = static_cast<int>(plan.warps * warp_threads),
            .thread_rows = static_cast<int>(plan.rows_a_block),
            .cluster_blocks = static_cast<int>(plan.cluster_blocks),
            .dependent = plan.dependent,
            .load_balanced = plan.load_balanced};
}

cudaError_t launch_row_tiles(const void *kernel, const RowTilesPlan &plan, std::size_t rows, void *arguments,
                             cudaStream_t stream) {
    return launch(row_tiles_launch(kernel, plan, rows), arguments, stream);
}

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
