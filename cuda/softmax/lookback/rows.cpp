#include "cuda/softmax/lookback/rows.h"

#include "cuda/common/fill_words.h"
#include "cuda/common/launch.h"
#include "cuda/gpu.h"
#include "cuda/rowwise/row_tiles_plan.h"
#include "cuda/softmax/kernels.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace wr::cuda {

namespace {

// Softmax of f32 rows of more tiles than the first is shared by all multiprocessors, where there are enough of
// them, but of more than the second up to the third, which clusters have just the warps for (H200, TB/s, and in
// clusters: 32768 4.15 and 4.18, 33792 4.12 and 3.79, 40960 4.14 and 4.00, 50304 4.14 and 3.98, 55296 4.14 and 4.10,
// 59392 4.13 and 4.15, 65536 4.15 and 4.18; before turns were drawn, 131072 4.07 and 4.06, 262144 4.06 and 3.99, 1
// Mi 4.05 and 3.29).
constexpr std::size_t softmax_lookback_row_tiles = 32;
constexpr std::size_t softmax_lookback_cluster_row_least = 56;
constexpr std::size_t softmax_lookback_cluster_row_most = 64;

// Log-softmax of f32 rows of more than this is, and softmax with its logsumexp of more than the second: a logarithm
// holds up whole clusters (log f32 24576 3.89 and 3.95, 25600 3.97 and 3.61, 30720 4.01 and 3.55, 65536 4.06 and 3.32,
// 1 Mi 3.97 and 2.64; with logsumexp 32768 4.02 and 4.20, 40000 4.01 and 3.47, 65536 4.05 and 3.80, 1 Mi 3.97
// and 2.62).
constexpr std::size_t softmax_lookback_logarithm_row_tiles = 24;
constexpr std::size_t softmax_lookback_logsumexp_row_tiles = 32;

// 16-bit rows of more than the first are too, where clusters would leave warps without a tile, and of more than
// the second where they would not (bf16 22528 3.89 and 3.97, 26624 3.90 and, before, 3.46; full clusters, 32768 3.99
// and 4.11, 49152 3.95 and 3.92, 57344 3.95 and 3.87, 65536 4.01 and 3.94). Rows of more than the third that are no
// longer than the short ones of clusters are left to these whatever they leave without work (28672 3.96 and 3.98,
// 30720 3.94 and 3.97; off the boundaries 3.03 and 3.26).
constexpr std::size_t softmax_lookback_narrow_row_tiles = 24;
constexpr std::size_t softmax_lookback_narrow_full_row_tiles = 40;
constexpr std::size_t softmax_lookback_narrow_cluster_row_least = 28;

// Log-softmax of them of more than the first is; and with their maxima or logsumexp those of more than the second where
// clusters would not be full, else of more than the third (log bf16 20480 4.00 and 4.01, 22528 3.63 and
// 3.54, 26624 3.68 and 3.35, 32768 3.86 and 3.70; with logsumexp 32768 3.49 and 3.97, 40960 3.87 and 3.83, 57344 3.62
// and 3.78, 65536 3.67 and 3.74).
constexpr std::size_t softmax_lookback_narrow_logarithm_row_tiles = 20;
constexpr std::size_t softmax_lookback_narrow_values_row_tiles = 32;
constexpr std::size_t softmax_lookback_narrow_values_full_row_tiles = 64;

// Off the boundaries f32 rows of more than the first are, but for those that clusters of small blocks hold just so (off
// by one 16384, 20480, 24576 4.04, 4.01, 3.99 and 4.13, 4.10, 4.09, 28672, 32768 3.99, 4.00 and 3.55, 4.02), of their
// logarithms those of more than the second (off by one 11264, 14336, 24576 4.07, 4.03, 4.02 and 3.25, 2.86, 3.31), and
// 16-bit ones of more than the third (bf16 off by one 20480, 24576, 32768, 65536 3.75, 3.63, 3.64, 3.62 and 3.14, 3.37,
// 3.39, 3.08, log 20480, 32768, 131072 3.39, 3.38, 3.18 and 2.66, 2.98, 2.44).
constexpr std::size_t softmax_lookback_unaligned_row_tiles = 24;
constexpr std::size_t softmax_lookback_unaligned_logarithm_row_tiles = 10;
constexpr std::size_t softmax_lookback_unaligned_narrow_row_tiles = 18;

// Of 16-bit rows that are, those of more tiles than this have fewer warps a multiprocessor, whose exponentials
// wait longer for their row's total.
constexpr std::size_t softmax_lookback_long_row_tiles = 192;

// Rows of no more than this publish a state for every two tiles, so that few warps are left without one at a
// row's end; longer ones, whose states would be more than a warp's lanes, for every 4.
constexpr std::size_t softmax_lookback_pairs_row_tiles = 64;

// How many tiles a multiprocessor there have to be: of rows longer than that, of f32, of 16 bits (TB/s, and
// otherwise: 262144 with 31 f32 1.85 and 1.79, bf16 1.39 and 1.30; f32 100000 with 62 2.75 and 2.79, with 93 3.18 and
// 3.05; bf16 131072 with 124 2.37 and 2.77, with 186 2.77 and 2.67).
constexpr std::size_t softmax_lookback_long_tiles = 24;
constexpr std::size_t softmax_lookback_tiles = 80;
constexpr std::size_t softmax_lookback_narrow_tiles = 192;

// Off the boundaries: of rows that are read twice otherwise, of f32, and of 16-bit rows where clusters would leave
// warps without work and where they would not (262144 off by one with 12, 15 f32 0.96, 1.35 and 0.94, 1.17, bf16 0.62,
// 0.94 and 0.62, 0.80; f32 50257 with 25, 35 1.88, 2.45 and 2.09, 1.75, log 1.81, 2.32 and 1.74, 1.48; bf16 50257 with
// logsumexp with 100 1.98 and 1.88; 36864 off by one with 100, 200 2.09, 2.60 and 2.12, 2.37; 32768 with 200, 400,
// 800 2.62, 3.00, 3.31 and 2.82, 3.05, 3.22).
constexpr std::size_t softmax_lookback_unaligned_long_tiles = 12;
constexpr std::size_t softmax_lookback_unaligned_tiles = 50;
constexpr std::size_t softmax_lookback_unaligned_narrow_tiles = 100;
constexpr std::size_t softmax_lookback_unaligned_full_tiles = 300;

bool is_of_rows(const SoftmaxProblem &problem) { return problem.shape.inner == 1; }

std::size_t row_tiles_of(const SoftmaxProblem &problem) { return divide_up(problem.shape.axis, softmax_block); }

bool is_narrow(const SoftmaxProblem &problem) { return traits_of(problem.dtype).size < sizeof(float); }

// On the boundaries or off them.
bool may_be_long_enough(const SoftmaxProblem &problem) {
    constexpr std::size_t wide = std::min({softmax_lookback_row_tiles, softmax_lookback_unaligned_row_tiles,
                                           softmax_lookback_unaligned_logarithm_row_tiles,
                                           softmax_lookback_logarithm_row_tiles, softmax_lookback_logsumexp_row_tiles});
    constexpr std::size_t narrow =
        std::min({softmax_lookback_turn_row_least, softmax_lookback_narrow_row_tiles,
                  softmax_lookback_unaligned_narrow_row_tiles, softmax_lookback_narrow_logarithm_row_tiles});
    return row_tiles_of(problem) > (is_narrow(problem) ? narrow : wide);
}

// Whether clusters would have a tile for each warp, and as many of them are there at a time as keep all warps of
// a multiprocessor busy: larger ones leave some without work.
bool fill_multiprocessors(const SoftmaxPlan &plan) {
    const bool full = plan.regime == SoftmaxRegime::clusters && plan.cluster_blocks * plan.cluster_warps == plan.tiles;
    return full && plan.cluster_warps <= softmax_preferred_cluster_warps;
}

bool wide_is_long_enough(const SoftmaxProblem &problem, const SoftmaxPlan &plan, bool unaligned) {
    if (unaligned && problem.log) {
        return plan.tiles > softmax_lookback_unaligned_logarithm_row_tiles;
    }
    if (unaligned) {
        return plan.tiles > softmax_lookback_unaligned_row_tiles && plan.tiles != softmax_short_cluster_row;
    }
    if (problem.log) {
        return plan.tiles > softmax_lookback_logarithm_row_tiles;
    }
    if (wants_row_values(problem)) {
        return plan.tiles > softmax_lookback_logsumexp_row_tiles;
    }
    const bool clusters_keep_up =
        plan.tiles > softmax_lookback_cluster_row_least && plan.tiles <= softmax_lookback_cluster_row_most;
    return plan.tiles > softmax_lookback_row_tiles && !clusters_keep_up;
}

bool narrow_is_long_enough(const SoftmaxProblem &problem, const SoftmaxPlan &plan, bool unaligned) {
    if (unaligned) {
        return plan.tiles > softmax_lookback_unaligned_narrow_row_tiles;
    }
    if (plan.tiles > softmax_lookback_turn_row_least && plan.tiles <= softmax_lookback_turn_row_most) {
        return true;
    }
    const bool clusters_keep_up =
        fill_multiprocessors(plan) ||
        (plan.tiles > softmax_lookback_narrow_cluster_row_least && plan.tiles <= softmax_short_cluster_row);
    if (problem.log) {
        return plan.tiles > softmax_lookback_narrow_logarithm_row_tiles;
    }
    if (wants_row_values(problem)) {
        return plan.tiles > (clusters_keep_up ? softmax_lookback_narrow_values_full_row_tiles
                                              : softmax_lookback_narrow_values_row_tiles);
    }
    return plan.tiles > (clusters_keep_up ? softmax_lookback_narrow_full_row_tiles : softmax_lookback_narrow_row_tiles);
}

bool is_long_enough(const SoftmaxProblem &problem, const SoftmaxPlan &plan, bool unaligned) {
    return is_narrow(problem) ? narrow_is_long_enough(problem, plan, unaligned)
                              : wide_is_long_enough(problem, plan, unaligned);
}

std::size_t least_blocks_of_multiprocessor(const SoftmaxProblem &problem, const SoftmaxPlan &plan, bool unaligned) {
    if (unaligned && plan.regime == SoftmaxRegime::two_pass_rows) {
        return softmax_lookback_unaligned_long_tiles;
    }
    if (plan.tiles > softmax_lookback_long_row_tiles) {
        return softmax_lookback_long_tiles;
    }
    if (!is_narrow(problem)) {
        return unaligned ? softmax_lookback_unaligned_tiles : softmax_lookback_tiles;
    }
    return !unaligned                   ? softmax_lookback_narrow_tiles
           : fill_multiprocessors(plan) ? softmax_lookback_unaligned_full_tiles
                                        : softmax_lookback_unaligned_narrow_tiles;
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
    if (!is_long_enough(problem, plan, unaligned) ||
        outer * row_tiles_of(problem) <
            static_cast<std::size_t>(gpu.multiprocessors) * least_blocks_of_multiprocessor(problem, plan, unaligned)) {
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
