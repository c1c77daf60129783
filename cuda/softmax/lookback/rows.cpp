#include "cuda/softmax/launches.h"

#include "cuda/common/fill_words.h"
#include "cuda/common/launch.h"
#include "cuda/gpu.h"
#include "cuda/rowwise/row_plan.h"
#include "cuda/softmax/kernels.h"
#include "cuda/softmax/policy.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace wr::cuda {

namespace {

// Of 16-bit rows that are, those of more tiles than this have fewer warps a multiprocessor, whose exponentials
// wait longer for their row's total.
constexpr std::size_t softmax_lookback_long_row_tiles = 192;

// Rows of no more than this publish a state for every two tiles, so that few warps are left without one at a
// row's end; longer ones, whose states would be more than a warp's lanes, for every 4.
constexpr std::size_t softmax_lookback_pairs_row_tiles = 64;

bool is_of_rows(const SoftmaxProblem &problem) { return problem.shape.inner == 1; }

std::size_t row_tiles_of(const SoftmaxProblem &problem) { return divide_up(problem.shape.axis, softmax_block); }

bool is_narrow(const SoftmaxProblem &problem) { return traits_of(problem.dtype).size < sizeof(float); }

// Rows of more tiles than this are.
std::size_t most_tiles_of_others(const SoftmaxPolicy &p, const SoftmaxProblem &problem, bool unaligned) {
    if (!unaligned && !problem.log) {
        return p.lookback_tiles;
    }
    return is_narrow(problem)         ? p.lookback_narrow_logarithm_tiles
           : unaligned && problem.log ? p.lookback_unaligned_logarithm_tiles
                                      : p.lookback_logarithm_tiles;
}

// On any GPU, on the boundaries or off them.
bool may_be_long_enough(const SoftmaxProblem &problem) {
    SoftmaxProblem logarithms = problem; // of which rows are taken from the fewest tiles on
    logarithms.log = true;
    return row_tiles_of(problem) > std::min(most_tiles_of_others(h200_softmax_policy, logarithms, true),
                                            most_tiles_of_others(plain_softmax_policy, logarithms, true));
}

// Tiles a multiprocessor that there have to be.
std::size_t least_load(const SoftmaxPolicy &p, const SoftmaxProblem &problem, const SoftmaxPlan &plan, bool unaligned) {
    if (plan.tiles > softmax_lookback_long_row_tiles || plan.regime == SoftmaxRegime::two_pass_rows) {
        return p.lookback_long_load;
    }
    if (is_narrow(problem)) {
        return unaligned && plan.tiles > p.lookback_tiles ? p.lookback_unaligned_narrow_load : p.lookback_narrow_load;
    }
    return unaligned ? p.lookback_unaligned_load : p.lookback_load;
}

// A published state's: sums of 16-bit rows are f32, others f64.
std::size_t state_bytes(const SoftmaxProblem &problem) {
    return is_narrow(problem) ? sizeof(std::uint64_t) : 2 * sizeof(std::uint64_t);
}

// How a kernel's warps make groups of a row's tiles, each of which publishes one state.
struct LookbackGroups {
    int power; // of 2: the tiles of a group
    std::size_t row, turn;
};

LookbackGroups groups_of(const SoftmaxProblem &problem, std::size_t warps) {
    const std::size_t row_tiles = row_tiles_of(problem);
    const bool pairs = row_tiles <= softmax_lookback_pairs_row_tiles;
    constexpr std::size_t largest = softmax_lookback_largest_group;
    const bool many_states = row_tiles > softmax_lookback_long_row_tiles && warps % largest == 0;
    const std::size_t blocks = pairs ? 2 : many_states ? largest : 4;
    return {std::countr_zero(blocks), divide_up(row_tiles, blocks), warps / blocks};
}

// The states of all groups, and behind them a word that counts the turns which blocks have drawn.
std::size_t published_bytes(const SoftmaxProblem &problem, std::size_t row_groups) {
    return problem.shape.outer * row_groups * state_bytes(problem) + sizeof(std::uint64_t);
}

} // namespace

std::size_t most_lookback_bytes(const SoftmaxProblem &problem) {
    const bool supported =
        is_of_rows(problem) && may_be_long_enough(problem) && row_tiles_of(problem) <= softmax_lookback_most_row_tiles;
    return supported ? published_bytes(problem, groups_of(problem, 1).row) : 0;
}

const SoftmaxLookbackKernel *lookback_kernel(const SoftmaxProblem &problem, const SoftmaxPlan &plan,
                                             const SoftmaxRowKernels &rows, const GpuFacts &gpu) {
    const bool many_states = row_tiles_of(problem) > softmax_lookback_long_row_tiles;
    const SoftmaxLookbackKernel &lookback = rows.lookback[problem.log ? 1 : 0][many_states ? 1 : 0];
    if (lookback.kernel == nullptr || gpu.cluster_blocks == 0 || !is_of_rows(problem) || problem.output == nullptr) {
        return nullptr;
    }
    const bool unaligned = rows.stage_bytes != 0;
    const std::size_t outer = problem.shape.outer;
    const SoftmaxPolicy &policy = softmax_policy(gpu);
    if (plan.tiles <= most_tiles_of_others(policy, problem, unaligned) ||
        outer * row_tiles_of(problem) < gpu.on_all(least_load(policy, problem, plan, unaligned))) {
        return nullptr;
    }
    const LookbackGroups groups = groups_of(problem, lookback.warps);
    const bool counts_fit = outer <= std::size_t{std::numeric_limits<std::int32_t>::max()} / groups.row;
    return counts_fit && groups.row >= groups.turn && groups.row <= softmax_lookback_states ? &lookback : nullptr;
}

cudaError_t launch_lookback(const SoftmaxLookbackKernel &lookback, const SoftmaxProblem &problem, SoftmaxArguments a,
                            const GpuFacts &gpu, cudaStream_t stream, bool *supported) {
    *supported = false;
    Launch how{lookback.kernel, 1, static_cast<int>(lookback.threads)};
    how.shared_bytes = lookback.shared_bytes;
    int resident = 0;
    cudaError_t error = prepare_clusters(how, gpu, &resident);
    const LookbackGroups groups = groups_of(problem, lookback.warps);
    // A row that a block waits for has to fit into the turns that wait in all of them (LookbackTurns::next_ticket).
    if (error != cudaSuccess ||
        groups.row > lookback.deferred_turns * groups.turn * static_cast<std::size_t>(resident)) {
        return error;
    }
    const std::size_t bytes = published_bytes(problem, groups.row);
    Workspace workspace(problem, bytes, stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    a.published = static_cast<std::uint64_t *>(workspace.take(bytes));
    a.published_words = bytes / sizeof(std::uint64_t);
    a.group_power = groups.power;
    error = launch_fill_words({a.published, a.published_words, absent_word}, gpu, stream);
    if (error == cudaSuccess) {
        how.blocks = static_cast<std::size_t>(resident);
        error = launch_together(how, &a, stream, supported);
    }
    const cudaError_t freed = workspace.finish();
    return error != cudaSuccess ? error : freed;
}

} // namespace wr::cuda
