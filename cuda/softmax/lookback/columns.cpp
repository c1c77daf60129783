#include "cuda/softmax/lookback/columns.h"

#include "cuda/common/fill_words.h"
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

// Softmax of f32 columns of whole vectors of more elements than this is shared by all multiprocessors, where there are
// so many tiles of 128 rows of 64 columns a multiprocessor, or, of long columns, fewer (H200, TB/s, and by clusters
// that share tiles or read twice: 1100 x 488064 3.70 and 2.54, 2048 x 256K 3.73 and 3.22, 4096 x 128K 3.68 and 3.43,
// 8192 x 64K 3.66 and 3.20, 16384 x 32K 3.69 and 2.97, 32768 x 16K 3.75 and 2.61; 2048 x 6400, 12 tiles, 2.41 and 2.19,
// 4096 x 1664, 6 tiles, 1.91 and 1.96, 8192 x 1280, 10 tiles, 2.16 and 2.14, 16384 x 256, 4 tiles, 1.55 and 1.17).
constexpr std::size_t softmax_lookback_column_axis = 1024;
constexpr std::size_t softmax_lookback_column_tiles = 6;
constexpr std::size_t softmax_shared_long_column = 8192;
constexpr std::size_t softmax_shared_long_column_tiles = 4;

// A panel of 64 columns has so many tiles a multiprocessor at most: of more, exponentials would wait longer for their
// columns' sums than there is room for (49152 x 10880 3.54 and 2.64, 57344 x 9344 2.79 and 2.64, 65536 x 8K 2.10 and
// 2.64).
constexpr std::size_t softmax_lookback_column_most_tiles = 3;

// Tiles a multiprocessor whose sums have room: twice as many as it may have drawn and not put together.
constexpr std::size_t softmax_lookback_column_ring = 24;

// Blocks a multiprocessor that look for columns such a job has left, and take them.
constexpr std::size_t softmax_left_column_blocks = 3;

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
    const std::size_t down = divide_up(s.axis, std::size_t{shared_tile_rows});
    return problem.dtype == ElementType::f32 && !problem.log && s.inner > 1 &&
           s.inner % elements_of_vector(problem.dtype) == 0 && s.axis > softmax_lookback_column_axis &&
           s.axis <= lookback_columns_most_axis && s.outer != 0 && s.inner <= most_tiles &&
           divide_up(s.inner, std::size_t{shared_panel_columns}) <= most_tiles / down / s.outer;
}

bool are_shared(const SoftmaxProblem &problem) {
    return may_be_shared(problem) && problem.output != nullptr && !wants_row_values(problem) &&
           takes_column_vectors(problem) && two_pass_column_tiles(problem) != 0;
}

bool are_many(const Shape &s, const Division &made, const GpuFacts &gpu) {
    const std::size_t least =
        s.axis > softmax_shared_long_column ? softmax_shared_long_column_tiles : softmax_lookback_column_tiles;
    return made.panels * made.down >= static_cast<std::size_t>(gpu.multiprocessors) * least;
}

// The columns that are left, if any.
cudaError_t launch_columns_left(const SoftmaxProblem &problem, const LookbackColumnsArguments &shared, Launch totals,
                                const GpuFacts &gpu, cudaStream_t stream) {
    SoftmaxArguments a = shared.softmax;
    a.splits = divide_up(a.axis, softmax_block);
    a.left = {shared.left, shared.factors, std::size_t{shared.across} * shared_panel_columns};
    const std::size_t blocks = static_cast<std::size_t>(gpu.multiprocessors) * softmax_left_column_blocks;
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
    const std::size_t most_tiles = std::min(kernel.waiting_tiles + 1, softmax_lookback_column_most_tiles);
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
