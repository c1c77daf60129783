#include "cuda/softmax/launches.h"

#include "cuda/common/gpu_facts.h"
#include "cuda/common/vectors.h"
#include "cuda/rowwise/row_plan.h"
#include "cuda/softmax/columns.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

// Empty where the array is smaller than a tile and two vectors.
ReadableRange vector_safe_range_of(const ReadableRange &readable_range, std::size_t element_bytes) {
    const std::size_t kept = softmax_block * element_bytes + bytes_of_vector;
    const bool is_longer = static_cast<std::size_t>(readable_range.end - readable_range.begin) > bytes_of_vector + kept;
    return is_longer ? ReadableRange{readable_range.begin + bytes_of_vector, readable_range.end - kept}
                     : ReadableRange{};
}

} // namespace

SoftmaxArguments arguments_of(const SoftmaxProblem &problem, const SoftmaxPlan &plan) {
    SoftmaxArguments a = arguments_of_problem(problem);
    a.readable_range = readable_range_of(problem.input, problem.shape, traits_of(problem.dtype).size);
    a.vector_safe_range = vector_safe_range_of(a.readable_range, traits_of(problem.dtype).size);
    a.splits = plan.splits;
    a.tiles_a_warp = static_cast<std::int32_t>(plan.tiles_a_warp);
    a.cluster_blocks = static_cast<std::int32_t>(plan.cluster.blocks);
    return a;
}

namespace {

// Not `supported` where one launch has not the blocks, or a block not the shared memory.
cudaError_t launch_rows(const SoftmaxCall &call, const Launch &how, SoftmaxArguments &a, bool *supported) {
    const cudaError_t error = allow_shared_bytes(how, call.gpu, supported);
    *supported = *supported && how.blocks <= most_blocks;
    return error == cudaSuccess && *supported ? launch(how, &a, call.stream) : error;
}

cudaError_t launch_registers(const SoftmaxCall &call, SoftmaxArguments &a, bool *supported) {
    const std::size_t warps = std::max<std::size_t>(call.plan.tiles, 1);
    const auto size = static_cast<std::size_t>(std::bit_width(warps - 1)); // of up to 2^size tiles
    const int log = a.log ? 1 : 0;
    const auto most = size == 0 ? static_cast<std::size_t>(call.rows.rows_of_block[log]) : std::size_t{1};
    const std::size_t rows_a_block = std::min(most, a.outer); // warps without a row would be the last to end
    const Launch how{.kernel = call.rows.rows[log][size],
                     .blocks = divide_up(a.outer, rows_a_block),
                     .threads = static_cast<int>(warps * warp_threads),
                     .thread_rows = static_cast<int>(rows_a_block),
                     .dependent = call.gpu.dependent_launch,
                     .shared_bytes = warps * rows_a_block * call.rows.stage_bytes};
    return launch_rows(call, how, a, supported);
}

// Whose every warp makes the total of a row of so many states; nullptr where there is none, or it is not the quicker
// one.
const void *redundant_combine_kernel(const SoftmaxRedundantCombineKernels &kernels, std::size_t states,
                                     const SoftmaxPlan &plan) {
    if (states <= warp_threads || plan.cluster.warps > kernels.warps ||
        (plan.few && states > kernels.most_states_of_few)) {
        return nullptr;
    }
    for (int size = 0; size < softmax_redundant_combine_sizes; ++size) {
        if (states <= softmax_redundant_combine_states[size]) {
            return kernels.of[size];
        }
    }
    return nullptr;
}

const void *cluster_kernel(const SoftmaxRowKernels &rows, const SoftmaxArguments &a, const SoftmaxPlan &plan) {
    const std::size_t states = plan.cluster.blocks * plan.cluster.warps;
    const void *const combines_redundantly = redundant_combine_kernel(rows.combines_redundantly, states, plan);
    if (!a.log && combines_redundantly != nullptr) {
        return combines_redundantly;
    }
    int size = states <= warp_threads ? 0 : 1; // states of one a lane, or more
    while (size + 1 < softmax_cluster_sizes &&
           static_cast<std::size_t>(softmax_cluster_warps[size]) < plan.cluster.warps) {
        ++size;
    }
    return rows.clusters[a.log ? 1 : 0][size];
}

// One cluster of a plan.
Launch one_cluster(const SoftmaxRowKernels &rows, const SoftmaxArguments &a, const SoftmaxPlan &plan) {
    return {.kernel = cluster_kernel(rows, a, plan),
            .blocks = plan.cluster.blocks,
            .threads = static_cast<int>(plan.cluster.warps * warp_threads),
            .cluster_blocks = static_cast<int>(plan.cluster.blocks),
            .shared_bytes = plan.cluster.warps * rows.stage_bytes,
            .load_balanced = plan.load_balanced};
}

cudaError_t launch_clusters(const SoftmaxCall &call, SoftmaxArguments &a, bool *supported) {
    SoftmaxPlan plan = call.plan;
    if (wants_wide_cluster(plan, a.outer, call.gpu)) {
        const SoftmaxPlan wide = with_wide_cluster(plan, a.outer, call.gpu);
        int resident = 0;
        const cudaError_t error = prepare_clusters(one_cluster(call.rows, a, wide), call.gpu, &resident);
        if (error != cudaSuccess) {
            return error;
        }
        plan = resident > 0 ? wide : plan;
    }
    a.cluster_blocks = static_cast<std::int32_t>(plan.cluster.blocks);
    Launch how = one_cluster(call.rows, a, plan);
    how.dependent = call.gpu.dependent_launch && gains_by_dependent_launch(a.outer * plan.tiles, call.gpu);
    how.blocks *= a.outer;
    return launch_rows(call, how, a, supported);
}

cudaError_t launch_short_rows(const SoftmaxCall &call, SoftmaxArguments &a, bool *supported) {
    const SoftmaxPlan &plan = call.plan;
    a.row_lanes = static_cast<std::int32_t>(plan.lanes);
    a.row_batches = static_cast<std::int32_t>(plan.batches);
    const Launch how = short_rows_launch(plan.short_rows[a.log ? 1 : 0], a.outer, plan.warp_rows, call.gpu);
    return launch_rows(call, how, a, supported);
}

cudaError_t launch_tiles(const SoftmaxKernels &kernels, SoftmaxArguments a, const SoftmaxPlan &plan,
                         cudaStream_t stream) {
    const SoftmaxTile tile = softmax_tiles[plan.column_tile];
    const auto columns = static_cast<std::size_t>(tile.columns);
    std::size_t threads = static_cast<std::size_t>(tile.threads);
    if (plan.cluster.blocks == 1) {
        threads =
            std::min(threads, divide_up(divide_up(a.axis, softmax_tile_run) * columns, warp_threads) * warp_threads);
    }
    const std::size_t blocks = a.outer * divide_up(a.inner, columns) * plan.cluster.blocks;
    return launch({.kernel = kernels.tiles.of[plan.column_tile],
                   .blocks = blocks,
                   .threads = static_cast<int>(threads),
                   .cluster_blocks = static_cast<int>(plan.cluster.blocks)},
                  &a, stream);
}

// Blocks for kernels whose blocks go on to further jobs where the grid is smaller than the job.
std::size_t blocks_for(std::size_t jobs, std::size_t jobs_a_block) {
    return std::min(divide_up(jobs, jobs_a_block), most_blocks);
}

Launch totals_of(const SoftmaxCall &call, const SoftmaxArguments &a) {
    return softmax_totals_launch(call.kernels, a.outer * a.inner, a.splits, call.gpu.dependent_launch);
}

cudaError_t launch_two_pass_rows(const SoftmaxCall &call, SoftmaxArguments &a) {
    const SoftmaxTwoPassRowKernels &kernels = call.kernels.two_pass_rows;
    Launch how{.kernel = kernels.split_states,
               .blocks = blocks_for(a.outer * a.splits, 1),
               .threads = static_cast<int>(softmax_two_pass_row_threads),
               .shared_bytes = softmax_two_pass_row_warps * kernels.stage_bytes};
    cudaError_t error = launch(how, &a, call.stream);
    if (error == cudaSuccess) {
        error = launch(totals_of(call, a), &a, call.stream);
    }
    if (error == cudaSuccess && a.output != nullptr) {
        how.kernel = kernels.apply[a.output_type != a.input_type ? 1 : 0];
        how.blocks = blocks_for(a.outer * call.plan.tiles, softmax_two_pass_row_warps);
        how.dependent = call.gpu.dependent_launch;
        error = launch(how, &a, call.stream);
    }
    return error;
}

cudaError_t launch_kernels(const SoftmaxCall &call, SoftmaxArguments &a, bool *supported) {
    switch (call.plan.regime) {
    case SoftmaxRegime::short_rows:
        return launch_short_rows(call, a, supported);
    case SoftmaxRegime::tiles:
        return launch_tiles(call.kernels, a, call.plan, call.stream);
    case SoftmaxRegime::registers:
        return launch_registers(call, a, supported);
    case SoftmaxRegime::clusters:
        return launch_clusters(call, a, supported);
    case SoftmaxRegime::two_pass_rows:
        return launch_two_pass_rows(call, a);
    case SoftmaxRegime::two_pass_columns:
        return launch_two_pass_columns(call.problem, a, most_blocks, totals_of(call, a), call.gpu.dependent_launch,
                                       call.stream);
    case SoftmaxRegime::general: // which is supported elsewhere
        break;
    }
    return cudaErrorUnknown;
}

} // namespace

SoftmaxArguments arguments_of_call(const SoftmaxCall &call) { return arguments_of(call.problem, call.plan); }

Launch softmax_totals_launch(const SoftmaxKernels &kernels, std::size_t rows, std::size_t splits, bool dependent) {
    const std::size_t rows_a_block =
        splits > softmax_splits_a_warp
            ? 1
            : softmax_two_pass_row_warps * static_cast<std::size_t>(rows_of_totals_warp(splits));
    return {.kernel = kernels.two_pass_rows.totals,
            .blocks = blocks_for(rows, rows_a_block),
            .threads = static_cast<int>(softmax_two_pass_row_threads),
            .dependent = dependent};
}

cudaError_t launch_regime(const SoftmaxCall &call, bool *supported) {
    SoftmaxArguments a = arguments_of_call(call);
    Workspace workspace(call.problem, workspace_bytes(call.problem.shape, call.plan), call.stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    const std::size_t rows = a.outer * a.inner;
    if (call.plan.splits != 0) {
        a.totals = static_cast<StoredState *>(workspace.take(rows * sizeof(StoredState)));
        a.states = static_cast<StoredState *>(workspace.take(rows * call.plan.splits * sizeof(StoredState)));
    }
    const cudaError_t launched = launch_kernels(call, a, supported);
    const cudaError_t freed = workspace.finish();
    return launched != cudaSuccess ? launched : freed;
}

} // namespace wr::cuda
