#include "cuda/softmax/columns.h"

#include "cuda/common/fill_words.h"
#include "cuda/common/gpu_facts.h"
#include "cuda/common/vectors.h"
#include "cuda/rowwise/column_plan.h"
#include "cuda/rowwise/policy.h"
#include "cuda/rowwise/row_plan.h"
#include "cuda/softmax/kernels.h"
#include "cuda/softmax/launches.h"
#include "cuda/softmax/plan.h"
#include "cuda/softmax/policy.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <limits>

namespace wr::cuda {

namespace {

const ColumnTileSoftmaxKernels *find_kernels(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &column_tile_softmax_kernels<T>(); });
}

// Whether columns' largest logits are wanted beside the sums: for more than plain softmax's outputs.
bool wants_logits(const SoftmaxProblem &p) { return p.log || wants_row_values(p) || !leaves_nothing_out(p.selection); }

const ColumnTileSoftmaxKernels::OfAKind &kernels_for(const ColumnTileSoftmaxKernels &kernels, const SoftmaxProblem &p,
                                                     bool whole) {
    return leaves_nothing_out(p.selection) ? kernels.of[wants_logits(p) ? 1 : 0][whole ? 1 : 0] : kernels.masked;
}

MaskedColumnTileArguments arguments_of(const SoftmaxProblem &problem, const ColumnTilePlan &plan,
                                       const ColumnTileSoftmaxKernels &kernels) {
    MaskedColumnTileArguments all{};
    all.softmax = arguments_of_problem(problem);
    all.tiles = plan.tiles;
    all.memory = {plan, kernels.each, kernels.left_bytes[wants_logits(problem) ? 1 : 0], sizeof(ColumnTileKept)};
    all.selection = problem.selection;
    all.logsumexp_type = problem.output == nullptr ? problem.logsumexp_dtype : ElementType::f32;
    return all;
}

ColumnTileThreads threads_of(const SoftmaxProblem &problem, const ColumnTileSoftmaxKernels::OfAKind &of, int least_rows,
                             const GpuFacts &gpu) {
    const RowwisePolicy &policy = rowwise_policy(gpu);
    const bool more_registers = of[of_own_tiles].most_threads < column_tile_most_threads;
    const bool narrow_tiles = traits_of(problem.dtype).size == 2 || wants_logits(problem);
    return {least_rows,
            2 * least_rows,
            softmax_policy(gpu).column_tile_threads,
            more_registers ? policy.column_tile_cta_threads_of_more_registers : policy.column_tile_cta_threads,
            static_cast<std::size_t>(of[of_most_rows].most_threads),
            narrow_tiles ? policy.column_tile_narrow_lanes : policy.column_tile_lanes};
}

ColumnTileSoftmaxRows rows_of(const ColumnTilePlan &plan, const ColumnTileSoftmaxKernels::OfAKind &of, int least_rows) {
    if (plan.tiles.rows == least_rows) {
        return of_least_rows;
    }
    return plan.has_own_tiles() && plan.threads <= of[of_own_tiles].most_threads ? of_own_tiles : of_most_rows;
}

// Elements of a column at most; whole: of whole vectors of columns, which other kernels serve too.
std::size_t most_axis(const SoftmaxProblem &p, bool whole, const SoftmaxPolicy &policy) {
    return p.output != nullptr ? policy.column_tile_axis
           : !whole            ? policy.column_tile_single_logsumexp_axis
                               : policy.column_tile_logsumexp_axis;
}

// The logsumexp alone in one of the types that kernels write.
bool are_outputs_served(const SoftmaxProblem &p) {
    return p.output == nullptr
               ? is_logsumexp_alone(p) && (p.logsumexp_dtype == ElementType::f32 || p.logsumexp_dtype == p.dtype)
               : p.output_dtype == p.dtype;
}

bool are_served(const SoftmaxProblem &p, bool whole, const GpuFacts &gpu) {
    const bool scaled_halves = traits_of(p.dtype).size == 2 && p.scale != 1.0;
    return are_outputs_served(p) && p.scales == nullptr && !scaled_halves && p.shape.inner_stride == 1 &&
           (whole || leaves_nothing_out(p.selection)) &&
           is_column_tile(p.shape, most_axis(p, whole, softmax_policy(gpu)), whole, gpu);
}

// Whether columns are whole vectors, and the mask's bytes whole words beside them.
bool takes_vectors(const SoftmaxProblem &p) {
    return takes_column_vectors(p) && is_aligned(p.selection.mask, elements_of_vector(p.dtype));
}

} // namespace

cudaError_t launch_column_tiles(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream,
                                bool *supported) {
    *supported = false;
    if (problem.shape.inner == 1) { // rows, of which few are on the GPU sooner where nothing else is asked first
        return cudaSuccess;
    }
    const ColumnTileSoftmaxKernels *kernels = find_kernels(problem.dtype);
    const bool whole = takes_vectors(problem);
    if (kernels == nullptr || !are_served(problem, whole, gpu)) {
        return cudaSuccess;
    }
    const ColumnTileSoftmaxKernels::OfAKind &of = kernels_for(*kernels, problem, whole);
    const ColumnTileThreads threads = threads_of(problem, of, kernels->least_rows, gpu);
    const ColumnTilePlan plan = plan_column_tiles(problem.shape, traits_of(problem.dtype).size, threads, whole, gpu);
    if (plan.threads == 0) {
        return cudaSuccess;
    }
    MaskedColumnTileArguments a = arguments_of(problem, plan, *kernels);
    const void *const kernel = of[rows_of(plan, of, kernels->least_rows)].kernel;
    const Launch how = column_tile_launch(kernel, plan, a.memory, gpu);
    const cudaError_t error = allow_shared_bytes(how, gpu, supported);
    return error == cudaSuccess && *supported ? launch(how, &a, stream) : error;
}

namespace {

const SoftmaxTwoPassColumnKernels *find_two_pass_column_kernels(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &softmax_two_pass_column_kernels<T>(); });
}

// How a tile each is put on the stream, by a kernel that is to be set.
Launch one_block_a_tile(const SoftmaxProblem &problem, bool dependent) {
    Launch how{nullptr, two_pass_column_tiles(problem), two_pass_column_threads};
    how.dependent = dependent;
    return how;
}

SoftmaxTwoPassColumnArguments arguments_of(const SoftmaxProblem &problem, const SoftmaxArguments &a) {
    return {a, cut_into_two_pass_column_tiles(problem.shape, traits_of(problem.dtype).size),
            static_cast<std::uint32_t>(two_pass_column_tiles(problem))};
}

} // namespace

std::size_t two_pass_column_tiles(const SoftmaxProblem &problem) {
    const bool supported = find_two_pass_column_kernels(problem.dtype) != nullptr && problem.shape.inner > 1 &&
                           takes_column_vectors(problem);
    return supported ? count_two_pass_column_tiles(problem.shape, traits_of(problem.dtype).size) : 0;
}

bool serves_two_pass_column_states(const SoftmaxProblem &problem) {
    return is_logsumexp_alone(problem) && problem.shape.axis > softmax_whole_column_axis &&
           two_pass_column_tiles(problem) != 0;
}

cudaError_t launch_two_pass_column_states(const SoftmaxProblem &problem, StoredState *states, bool dependent,
                                          cudaStream_t stream) {
    SoftmaxArguments a = arguments_of_problem(problem);
    want_row_values(a, nullptr, nullptr); // which the totals give
    a.states = states;
    a.splits = divide_up(problem.shape.axis, softmax_block);
    SoftmaxTwoPassColumnArguments all = arguments_of(problem, a);
    Launch how = one_block_a_tile(problem, dependent);
    how.kernel = find_two_pass_column_kernels(problem.dtype)->states;
    return launch(how, &all, stream);
}

cudaError_t launch_two_pass_columns(const SoftmaxProblem &problem, const SoftmaxArguments &a, std::size_t most,
                                    const Launch &totals, bool dependent, cudaStream_t stream) {
    const SoftmaxTwoPassColumnKernels &kernels = *find_two_pass_column_kernels(problem.dtype);
    SoftmaxTwoPassColumnArguments all = arguments_of(problem, a);
    Launch how = one_block_a_tile(problem, dependent);
    how.blocks = std::min(how.blocks, most);
    how.kernel = kernels.states;
    cudaError_t error = launch(how, &all, stream);
    if (error == cudaSuccess) {
        error = launch(totals, &all.softmax, stream);
    }
    if (error == cudaSuccess) {
        how.kernel = kernels.outputs;
        error = launch(how, &all, stream);
    }
    return error;
}

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
