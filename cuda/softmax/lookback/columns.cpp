#include "cuda/softmax/lookback/columns.h"

#include "cuda/common/fill_words.h"
#include "cuda/common/tuning.h"
#include "cuda/common/vector_types.h"
#include "cuda/softmax/kernels.h"
#include "cuda/softmax/lookback/rows.h"
#include "cuda/softmax/plan.h"
#include "cuda/softmax/policy.h"
#include "cuda/softmax/two_pass/columns.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <limits>

namespace wr::cuda {

namespace {

// Tiles a multiprocessor whose sums have room: twice as many as it may have drawn and not put together.
constexpr std::size_t softmax_lookback_column_ring = 24;

// Blocks a multiprocessor that look for columns such a job has left, and take them.
constexpr std::size_t left_column_blocks = 3;

// How the columns are cut, and what is done with the workspace: first words, then the states of columns that are left,
// then their totals.
struct Division {
    std::size_t across, down, panels, ring;
    std::size_t sums, factors, words; // and one word more for what is drawn, one for whether any are left
    std::size_t state_bytes, total_bytes;
};

// Sums of so many tiles have room that those which a panel's take the place of were put together long before.
Division cut(const Shape &s, std::size_t multiprocessors) {
    const std::size_t across = divide_up(s.inner, std::size_t{shared_panel_columns});
    const std::size_t down = divide_up(s.axis, std::size_t{shared_tile_rows}), panels = s.outer * across;
    const std::size_t ring = std::min(panels, divide_up(multiprocessors * softmax_lookback_column_ring, down));
    const std::size_t factors = panels * shared_panel_columns, sums = ring * shared_panel_columns * down;
    const std::size_t totals = s.outer * s.inner * sizeof(StoredState);
    return {across, down, panels, ring, sums, factors, sums + factors + 2, totals * divide_up(s.axis, softmax_block),
            totals};
}

std::size_t bytes_of(const Division &made) {
    return made.words * sizeof(std::uint64_t) + made.state_bytes + made.total_bytes;
}

// Whether columns may be shared, as a query knows them: it is not told what is written.
bool may_be_shared(const SoftmaxProblem &problem) {
    const Shape &s = problem.shape;
    // Of fewer than 2^32 places where a tile may begin.
    constexpr std::size_t most_tiles = std::numeric_limits<std::int32_t>::max();
    constexpr std::size_t column_axis =
        std::min(h200_softmax_policy.lookback_column_axis, plain_softmax_policy.lookback_column_axis);
    const std::size_t down = divide_up(s.axis, std::size_t{shared_tile_rows});
    return problem.dtype == ElementType::f32 && !problem.log && s.inner > 1 &&
           s.inner % elements_of_vector(problem.dtype) == 0 && s.axis > column_axis &&
           s.axis <= lookback_columns_most_axis && s.outer != 0 && s.inner <= most_tiles &&
           divide_up(s.inner, std::size_t{shared_panel_columns}) <= most_tiles / down / s.outer;
}

bool are_shared(const SoftmaxProblem &problem) {
    return may_be_shared(problem) && problem.output != nullptr && !wants_row_values(problem) &&
           takes_column_vectors(problem) && two_pass_column_tiles(problem) != 0;
}

bool are_many(const Shape &s, const Division &made, const GpuFacts &gpu) {
    const SoftmaxPolicy &policy = softmax_policy(gpu);
    return s.axis > policy.lookback_column_axis && made.panels * made.down >= gpu.on_all(policy.lookback_column_load);
}

// The columns that are left, if any.
cudaError_t launch_columns_left(const SoftmaxProblem &problem, const LookbackColumnsArguments &shared, Launch totals,
                                const GpuFacts &gpu, cudaStream_t stream) {
    SoftmaxArguments a = shared.softmax;
    a.splits = divide_up(a.axis, softmax_block);
    a.left = {shared.left, shared.factors, std::size_t{shared.across} * shared_panel_columns};
    const std::size_t blocks = gpu.on_all(left_column_blocks);
    totals.blocks = std::min(totals.blocks, blocks);
    return launch_two_pass_columns(problem, a, blocks, totals, gpu.dependent_launch, stream);
}

} // namespace

std::size_t most_lookback_columns_bytes(const SoftmaxProblem &problem) {
    return may_be_shared(problem) ? bytes_of(cut(problem.shape, tuning::most_multiprocessors)) : 0;
}

cudaError_t launch_lookback_columns(const SoftmaxProblem &problem, const SoftmaxArguments &a, const Launch &totals,
                                    const GpuFacts &gpu, cudaStream_t stream, bool *supported) {
    *supported = false;
    const auto multiprocessors = static_cast<std::size_t>(gpu.multiprocessors);
    if (gpu.cluster_blocks == 0 || multiprocessors > tuning::most_multiprocessors || !are_shared(problem)) {
        return cudaSuccess;
    }
    const Division made = cut(problem.shape, multiprocessors);
    if (!are_many(problem.shape, made, gpu)) {
        return cudaSuccess;
    }
    const LookbackColumnsKernel &kernel = lookback_columns_kernel();
    Launch how{kernel.kernel, 1, static_cast<int>(kernel.threads)};
    how.shared_bytes = kernel.shared_bytes;
    int resident = 0;
    cudaError_t error = prepare_clusters(how, gpu, &resident);
    // A panel that a block waits for has to fit into the turns that wait in all of them (LookbackColumnDraws).
    const std::size_t most_tiles = std::min(kernel.waiting_tiles + 1, softmax_policy(gpu).lookback_column_most_tiles);
    if (error != cudaSuccess || made.down > most_tiles * static_cast<std::size_t>(resident)) {
        return error;
    }
    Workspace workspace(problem, bytes_of(made), stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    auto *const words = static_cast<std::uint64_t *>(workspace.take(made.words * sizeof(std::uint64_t)));
    LookbackColumnsArguments shared{.softmax = a,
                                    .sums = words,
                                    .factors = words + made.sums,
                                    .drawn = words + (made.words - 2),
                                    .left = words + (made.words - 1),
                                    .across = static_cast<std::uint32_t>(made.across),
                                    .down = static_cast<std::uint32_t>(made.down),
                                    .panels = static_cast<std::uint32_t>(made.panels),
                                    .ring = static_cast<std::uint32_t>(made.ring)};
    shared.softmax.states = static_cast<StoredState *>(workspace.take(made.state_bytes));
    shared.softmax.totals = static_cast<StoredState *>(workspace.take(made.total_bytes));
    error = launch_fill_words({words, made.words, absent_word}, gpu, stream);
    if (error == cudaSuccess) {
        how.blocks = static_cast<std::size_t>(resident);
        error = launch_together(how, &shared, stream, supported);
    }
    if (error == cudaSuccess && *supported) {
        error = launch_columns_left(problem, shared, totals, gpu, stream);
    }
    const cudaError_t freed = workspace.finish();
    return error != cudaSuccess ? error : freed;
}

} // namespace wr::cuda
