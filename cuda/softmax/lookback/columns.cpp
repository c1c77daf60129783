#include "cuda/softmax/lookback/columns.h"

#include "cuda/common/tuning.h"
#include "cuda/common/vector_types.h"
#include "cuda/softmax/kernels.h"
#include "cuda/softmax/lookback/column_kernels.h"
#include "cuda/softmax/lookback/rows.h"
#include "cuda/softmax/plan.h"
#include "cuda/softmax/two_pass/columns.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <limits>

namespace wr::cuda {

namespace {

// How the columns are cut, and what is done with the workspace: first words, then the states of columns that are left,
// then their totals.
struct Cut {
    std::size_t across, down, strips, ring;
    std::size_t sums, factors, words; // and one word more for what is drawn, one for whether any are left
    std::size_t state_bytes, total_bytes;
};

// Sums of so many tiles have room that those which a strip's take the place of were put together long before.
Cut cut(const Shape &s, std::size_t multiprocessors) {
    const std::size_t across = divide_up(s.inner, std::size_t{shared_strip_columns});
    const std::size_t down = divide_up(s.axis, std::size_t{shared_tile_rows}), strips = s.outer * across;
    const std::size_t ring = std::min(strips, divide_up(multiprocessors * tuning::softmax_shared_column_ring, down));
    const std::size_t factors = strips * shared_strip_columns, sums = ring * shared_strip_columns * down;
    const std::size_t totals = s.outer * s.inner * sizeof(StoredState);
    return {across, down, strips, ring, sums, factors, sums + factors + 2, totals * divide_up(s.axis, softmax_block),
            totals};
}

std::size_t bytes_of(const Cut &made) {
    return made.words * sizeof(std::uint64_t) + made.state_bytes + made.total_bytes;
}

// Whether columns may be shared, as a query knows them: it is not told what is written.
bool may_be_shared(const SoftmaxProblem &problem) {
    const Shape &s = problem.shape;
    // Of fewer than 2^32 places where a tile may begin.
    constexpr std::size_t most_tiles = std::numeric_limits<std::int32_t>::max();
    const std::size_t down = divide_up(s.axis, std::size_t{shared_tile_rows});
    return problem.dtype == ElementType::f32 && !problem.log && s.inner > 1 &&
           s.inner % elements_of_vector(problem.dtype) == 0 && s.axis > tuning::softmax_shared_column_axis &&
           s.axis <= shared_columns_most_axis && s.outer != 0 && s.inner <= most_tiles &&
           divide_up(s.inner, std::size_t{shared_strip_columns}) <= most_tiles / down / s.outer;
}

bool are_shared(const SoftmaxProblem &problem) {
    return may_be_shared(problem) && problem.output != nullptr && !wants_row_values(problem) &&
           takes_column_vectors(problem) && tall_tiles(problem) != 0;
}

bool are_many(const Shape &s, const Cut &made, const GpuFacts &gpu) {
    const std::size_t least = s.axis > tuning::softmax_shared_long_column ? tuning::softmax_shared_long_column_tiles
                                                                          : tuning::softmax_shared_column_tiles;
    return made.strips * made.down >= static_cast<std::size_t>(gpu.multiprocessors) * least;
}

// The columns that are left, if any.
cudaError_t launch_columns_left(const SoftmaxProblem &problem, const SharedColumnsArguments &shared, Launch totals,
                                const GpuFacts &gpu, cudaStream_t stream) {
    SoftmaxArguments a = shared.softmax;
    a.pieces = divide_up(a.axis, softmax_block);
    a.left = {shared.left, shared.factors, std::size_t{shared.across} * shared_strip_columns};
    const std::size_t blocks = static_cast<std::size_t>(gpu.multiprocessors) * tuning::softmax_left_column_blocks;
    totals.blocks = std::min(totals.blocks, blocks);
    return launch_tall_columns(problem, a, blocks, totals, gpu.dependent_launch, stream);
}

} // namespace

std::size_t most_shared_columns_bytes(const SoftmaxProblem &problem) {
    return may_be_shared(problem) ? bytes_of(cut(problem.shape, tuning::most_multiprocessors)) : 0;
}

cudaError_t launch_shared_columns(const SoftmaxProblem &problem, const SoftmaxArguments &a, const void *clear,
                                  const Launch &totals, const GpuFacts &gpu, cudaStream_t stream, bool *served) {
    *served = false;
    const auto multiprocessors = static_cast<std::size_t>(gpu.multiprocessors);
    if (gpu.cluster_blocks == 0 || multiprocessors > tuning::most_multiprocessors || !are_shared(problem)) {
        return cudaSuccess;
    }
    const Cut made = cut(problem.shape, multiprocessors);
    if (!are_many(problem.shape, made, gpu)) {
        return cudaSuccess;
    }
    const SharedColumnsKernel &kernel = shared_columns_kernel();
    Launch how{kernel.kernel, 1, static_cast<int>(kernel.threads)};
    how.shared_bytes = kernel.shared_bytes;
    int resident = 0;
    cudaError_t error = prepare_clusters(how, gpu, &resident);
    // A strip that a block waits for has to fit into the turns that wait in all of them (SharedColumnDraws).
    const std::size_t most_tiles = std::min(kernel.waiting_tiles + 1, tuning::softmax_shared_column_most_tiles);
    if (error != cudaSuccess || made.down > most_tiles * static_cast<std::size_t>(resident)) {
        return error;
    }
    Workspace workspace(problem, bytes_of(made), stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    auto *const words = static_cast<std::uint64_t *>(workspace.take(made.words * sizeof(std::uint64_t)));
    SharedColumnsArguments shared{a,
                                  words,
                                  words + made.sums,
                                  words + (made.words - 2),
                                  words + (made.words - 1),
                                  static_cast<std::uint32_t>(made.across),
                                  static_cast<std::uint32_t>(made.down),
                                  static_cast<std::uint32_t>(made.strips),
                                  static_cast<std::uint32_t>(made.ring)};
    shared.softmax.states = static_cast<StoredState *>(workspace.take(made.state_bytes));
    shared.softmax.totals = static_cast<StoredState *>(workspace.take(made.total_bytes));
    SoftmaxArguments cleared = a;
    cleared.published = words;
    cleared.pieces = made.words;
    error = clear_published(clear, cleared, gpu, stream);
    if (error == cudaSuccess) {
        how.blocks = static_cast<std::size_t>(resident);
        error = launch_together(how, &shared, stream, served);
    }
    if (error == cudaSuccess && *served) {
        error = launch_columns_left(problem, shared, totals, gpu, stream);
    }
    const cudaError_t freed = workspace.finish();
    return error != cudaSuccess ? error : freed;
}

} // namespace wr::cuda
