#include "cuda/softmax/lookback/rows.h"

#include "cuda/common/launch.h"
#include "cuda/common/tuning.h"
#include "cuda/gpu.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace wr::cuda {

namespace {

bool is_of_rows(const SoftmaxProblem &problem) { return problem.shape.inner == 1; }

std::size_t row_blocks_of(const SoftmaxProblem &problem) { return divide_up(problem.shape.axis, softmax_block); }

bool is_narrow(const SoftmaxProblem &problem) { return traits_of(problem.dtype).size < sizeof(float); }

// On the boundaries or off them.
bool may_be_long_enough(const SoftmaxProblem &problem) {
    constexpr std::size_t wide =
        std::min({tuning::softmax_relay_row_blocks, tuning::softmax_relay_shifted_row_blocks,
                  tuning::softmax_relay_shifted_logarithm_row_blocks, tuning::softmax_relay_logarithm_row_blocks,
                  tuning::softmax_relay_logsumexp_row_blocks});
    constexpr std::size_t narrow =
        std::min({tuning::softmax_relay_turn_row_least, tuning::softmax_relay_narrow_row_blocks,
                  tuning::softmax_relay_shifted_narrow_row_blocks, tuning::softmax_relay_narrow_logarithm_row_blocks});
    return row_blocks_of(problem) > (is_narrow(problem) ? narrow : wide);
}

// Whether clusters would have a base block for each warp, and as many of them are there at a time as keep all warps of
// a multiprocessor busy: larger ones leave some without work.
bool fill_multiprocessors(const SoftmaxPlan &plan) {
    const bool full = plan.regime == SoftmaxRegime::clusters && plan.cluster_blocks * plan.cluster_warps == plan.blocks;
    return full && plan.cluster_warps <= tuning::softmax_cluster_warps;
}

bool wide_is_long_enough(const SoftmaxProblem &problem, const SoftmaxPlan &plan, bool shifted) {
    if (shifted && problem.log) {
        return plan.blocks > tuning::softmax_relay_shifted_logarithm_row_blocks;
    }
    if (shifted) {
        return plan.blocks > tuning::softmax_relay_shifted_row_blocks &&
               plan.blocks != tuning::softmax_short_cluster_row;
    }
    if (problem.log) {
        return plan.blocks > tuning::softmax_relay_logarithm_row_blocks;
    }
    if (wants_row_values(problem)) {
        return plan.blocks > tuning::softmax_relay_logsumexp_row_blocks;
    }
    const bool clusters_keep_up =
        plan.blocks > tuning::softmax_relay_cluster_row_least && plan.blocks <= tuning::softmax_relay_cluster_row_most;
    return plan.blocks > tuning::softmax_relay_row_blocks && !clusters_keep_up;
}

bool narrow_is_long_enough(const SoftmaxProblem &problem, const SoftmaxPlan &plan, bool shifted) {
    if (shifted) {
        return plan.blocks > tuning::softmax_relay_shifted_narrow_row_blocks;
    }
    if (plan.blocks > tuning::softmax_relay_turn_row_least && plan.blocks <= tuning::softmax_relay_turn_row_most) {
        return true;
    }
    const bool clusters_keep_up =
        fill_multiprocessors(plan) || (plan.blocks > tuning::softmax_relay_narrow_cluster_row_least &&
                                       plan.blocks <= tuning::softmax_short_cluster_row);
    if (problem.log) {
        return plan.blocks > tuning::softmax_relay_narrow_logarithm_row_blocks;
    }
    if (wants_row_values(problem)) {
        return plan.blocks > (clusters_keep_up ? tuning::softmax_relay_narrow_values_full_row_blocks
                                               : tuning::softmax_relay_narrow_values_row_blocks);
    }
    return plan.blocks >
           (clusters_keep_up ? tuning::softmax_relay_narrow_full_row_blocks : tuning::softmax_relay_narrow_row_blocks);
}

bool is_long_enough(const SoftmaxProblem &problem, const SoftmaxPlan &plan, bool shifted) {
    return is_narrow(problem) ? narrow_is_long_enough(problem, plan, shifted)
                              : wide_is_long_enough(problem, plan, shifted);
}

std::size_t least_blocks_of_multiprocessor(const SoftmaxProblem &problem, const SoftmaxPlan &plan, bool shifted) {
    if (shifted && plan.regime == SoftmaxRegime::long_rows) {
        return tuning::softmax_relay_shifted_long_blocks;
    }
    if (plan.blocks > tuning::softmax_relay_long_row_blocks) {
        return tuning::softmax_relay_long_blocks;
    }
    if (!is_narrow(problem)) {
        return shifted ? tuning::softmax_relay_shifted_blocks : tuning::softmax_relay_blocks;
    }
    return !shifted                     ? tuning::softmax_relay_narrow_blocks
           : fill_multiprocessors(plan) ? tuning::softmax_relay_shifted_full_blocks
                                        : tuning::softmax_relay_shifted_narrow_blocks;
}

// A published state's: sums of 16-bit rows are f32, others f64.
std::size_t state_bytes(const SoftmaxProblem &problem) {
    return is_narrow(problem) ? sizeof(std::uint64_t) : 2 * sizeof(std::uint64_t);
}

// How a kernel's warps make groups of a row's base blocks, each of which publishes one state.
struct RelayGroups {
    int power; // of 2: the base blocks of a group
    std::size_t row, turn;
};

RelayGroups groups_of(const SoftmaxProblem &problem, std::size_t warps) {
    const std::size_t row_blocks = row_blocks_of(problem);
    const bool pairs = row_blocks <= tuning::softmax_relay_pairs_row_blocks;
    constexpr std::size_t largest = softmax_relay_largest_group;
    const bool many_states = row_blocks > tuning::softmax_relay_long_row_blocks && warps % largest == 0;
    const std::size_t blocks = pairs ? 2 : many_states ? largest : 4;
    return {std::countr_zero(blocks), divide_up(row_blocks, blocks), warps / blocks};
}

// The states of all groups, and behind them a word that counts the turns which blocks have drawn.
std::size_t published_bytes(const SoftmaxProblem &problem, std::size_t row_groups) {
    return problem.shape.outer * row_groups * state_bytes(problem) + sizeof(std::uint64_t);
}

} // namespace

std::size_t most_relay_bytes(const SoftmaxProblem &problem) {
    const bool served =
        is_of_rows(problem) && may_be_long_enough(problem) && row_blocks_of(problem) <= softmax_relay_most_row_blocks;
    return served ? published_bytes(problem, groups_of(problem, 1).row) : 0;
}

const SoftmaxRelayKernel *relay_kernel(const SoftmaxProblem &problem, const SoftmaxPlan &plan,
                                       const SoftmaxRowKernels &rows, const GpuFacts &gpu) {
    const bool many_states = row_blocks_of(problem) > tuning::softmax_relay_long_row_blocks;
    const SoftmaxRelayKernel &relay = rows.relay[problem.log ? 1 : 0][many_states ? 1 : 0];
    if (relay.kernel == nullptr || gpu.cluster_blocks == 0 || !is_of_rows(problem) || problem.output == nullptr) {
        return nullptr;
    }
    const bool shifted = rows.stage_bytes != 0;
    const std::size_t outer = problem.shape.outer;
    if (!is_long_enough(problem, plan, shifted) ||
        outer * row_blocks_of(problem) <
            static_cast<std::size_t>(gpu.multiprocessors) * least_blocks_of_multiprocessor(problem, plan, shifted)) {
        return nullptr;
    }
    const RelayGroups groups = groups_of(problem, relay.warps);
    const bool counts_fit = outer <= std::size_t{std::numeric_limits<std::int32_t>::max()} / groups.row;
    return counts_fit && groups.row >= groups.turn && groups.row <= softmax_relay_states ? &relay : nullptr;
}

cudaError_t clear_published(const void *kernel, SoftmaxArguments a, const GpuFacts &gpu, cudaStream_t stream) {
    Launch how{kernel, divide_up(a.pieces, softmax_relay_clear_words), softmax_relay_clear_threads};
    how.dependent = gpu.dependent_launch;
    return launch(how, &a, stream);
}

cudaError_t launch_relay(const SoftmaxRelayKernel &relay, const SoftmaxProblem &problem, SoftmaxArguments a,
                         const GpuFacts &gpu, cudaStream_t stream, bool *served) {
    *served = false;
    Launch how{relay.kernel, 1, static_cast<int>(relay.threads)};
    how.shared_bytes = relay.shared_bytes;
    int resident = 0;
    cudaError_t error = prepare_clusters(how, gpu, &resident);
    const RelayGroups groups = groups_of(problem, relay.warps);
    // A row that a block waits for has to fit into the turns that wait in all of them (RelayTurns::next_ticket).
    if (error != cudaSuccess || groups.row > relay.parked_turns * groups.turn * static_cast<std::size_t>(resident)) {
        return error;
    }
    const std::size_t bytes = published_bytes(problem, groups.row);
    Workspace workspace(problem, bytes, stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    a.published = static_cast<std::uint64_t *>(workspace.take(bytes));
    a.pieces = bytes / sizeof(std::uint64_t);
    a.group_power = groups.power;
    error = clear_published(relay.clear, a, gpu, stream);
    if (error == cudaSuccess) {
        how.blocks = static_cast<std::size_t>(resident);
        error = launch_together(how, &a, stream, served);
    }
    const cudaError_t freed = workspace.finish();
    return error != cudaSuccess ? error : freed;
}

} // namespace wr::cuda
