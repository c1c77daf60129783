#include "cuda/softmax/plan.h"

#include "cuda/common/gpu_facts.h"
#include "cuda/common/launch.h"
#include "cuda/common/vectors.h"
#include "cuda/rowwise/policy.h"
#include "cuda/rowwise/row_plan.h"
#include "cuda/softmax/columns.h"
#include "cuda/softmax/launches.h"
#include "cuda/softmax/policy.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

// Softmax of long rows: blocks a multiprocessor should get before warps take more than one tile each.
constexpr int softmax_blocks_a_multiprocessor = 8;

constexpr std::size_t most_register_tiles = 32; // a row of 32 tiles is a block of 1024 threads
// Warps of a block of a cluster.
constexpr std::size_t most_cluster_warps(std::size_t element_bytes) {
    return element_bytes == sizeof(double) ? softmax_long_cluster_warps : 32;
}
constexpr std::size_t most_tiles_a_warp = 32; // a warp keeps one state a lane

bool has_narrow_tiles(LoadPolicy places) { return places == LoadPolicy::unaligned || places == LoadPolicy::converted; }

// Warps that the blocks of a cluster should have at least and at most. Rows off the boundaries of more than 32 tiles as
// many as a block may have (H200, 50257 by 5 blocks of 10 warps: f32 3.30 TB/s, bf16 2.59; by 7 of 8 2.94 and 2.13).
struct WarpRange {
    std::size_t least, most;
};
WarpRange cluster_warps(std::size_t tiles, std::size_t element_bytes, LoadPolicy places, bool same_type,
                        const GpuFacts &gpu) {
    const SoftmaxPolicy &policy = softmax_policy(gpu);
    if (has_narrow_tiles(places) && tiles > warp_threads) {
        return {softmax_unaligned_warps, unaligned_cluster_warps(element_bytes)};
    }
    if (element_bytes == sizeof(float) && same_type && tiles <= policy.cluster_tiles) {
        return {rowwise_policy(gpu).least_cluster_warps, softmax_preferred_cluster_warps};
    }
    const bool is_short = tiles <= (element_bytes == 2 ? policy.cluster_narrow_tiles : policy.cluster_tiles);
    const std::size_t warps =
        has_narrow_tiles(places) || is_short ? softmax_preferred_cluster_warps : softmax_long_cluster_warps;
    return {warps, warps};
}

// Columns that a block's or a cluster's registers hold.
void plan_tiles(SoftmaxPlan &plan, const Shape &s, std::size_t element_bytes, const GpuFacts &gpu) {
    const auto most_blocks_of_cluster = static_cast<std::size_t>(std::max(gpu.cluster_blocks, 1));
    for (int size = 0; size < (element_bytes == sizeof(double) ? 1 : softmax_tile_sizes); ++size) {
        const auto columns = static_cast<std::size_t>(softmax_tiles[size].columns);
        const std::size_t height = static_cast<std::size_t>(softmax_tiles[size].threads) / columns * softmax_tile_run;
        const std::size_t blocks = divide_up(s.axis, height);
        if (blocks <= most_blocks_of_cluster &&
            s.outer <= most_blocks / most_blocks_of_cluster / divide_up(s.inner, columns)) {
            plan.regime = SoftmaxRegime::tiles;
            plan.column_tile = size;
            plan.cluster.blocks = blocks;
            return;
        }
    }
}

// Whether short rows that are converted share a warp.
bool packs_into(const SoftmaxProblem &problem) {
    return problem.dtype == ElementType::f32 || problem.output_dtype == ElementType::f32;
}

// Elements of the longest rows of whole vectors that share a warp, or have one as if they did.
std::size_t longest_vector_row(const SoftmaxProblem &problem, const SoftmaxPolicy &policy) {
    const bool has_quick_rows = traits_of(problem.dtype).size != 2 || problem.log || wants_row_values(problem);
    return has_quick_rows ? policy.sub_warp_axis : policy.sub_warp_narrow_vector_axis;
}

// Rows that share a warp, if these do.
void plan_short_rows(SoftmaxPlan &plan, const SoftmaxProblem &problem, const SoftmaxKernels &kernels, LoadPolicy places,
                     const GpuFacts &gpu) {
    const Shape &s = problem.shape;
    const auto element_bytes = static_cast<std::size_t>(kernels.element_bytes);
    const bool converted = problem.output_dtype != problem.dtype;
    const bool packs = !converted || (places == LoadPolicy::converted && packs_into(problem));
    if (places == LoadPolicy::strided || !packs || s.inner != 1 || s.axis == 0 ||
        s.outer_stride != static_cast<std::ptrdiff_t>(s.axis)) {
        return;
    }
    const std::size_t elements = bytes_of_vector / element_bytes; // of a vector
    const std::size_t registers = softmax_block / warp_threads / elements;
    const std::size_t vectors = divide_up(s.axis, elements);
    const void *const *const packed = converted                       ? kernels.converted.packed
                                      : places == LoadPolicy::vectors ? kernels.short_rows.packed
                                                                      : kernels.short_rows.staged;
    // Half of a row's places may be empty (f32 of 16: 3.16 TB/s on an H200, a row a lane 1.73).
    if (packed[0] != nullptr && s.axis % elements == 0 && 2 * std::bit_ceil(vectors) >= registers &&
        s.axis <= longest_vector_row(problem, softmax_policy(gpu))) {
        const RowPacking packing(s.axis, elements);
        plan.regime = SoftmaxRegime::short_rows;
        plan.short_rows = packed;
        plan.lanes = packing.places;
        plan.batches = 1;
        plan.warp_rows = packing.warp_rows;
    } else if (!converted && s.axis <= softmax_policy(gpu).sub_warp_axis) {
        plan.regime = SoftmaxRegime::short_rows;
        const StagedRows staged(s, element_bytes, registers + 1, gpu);
        plan.lanes = staged.lanes;
        plan.batches = staged.batches;
        plan.warp_rows = staged.warp_rows;
        const bool of_a_lane = plan.lanes == 1 && kernels.short_rows.of_a_lane[0] != nullptr;
        plan.short_rows = of_a_lane ? kernels.short_rows.of_a_lane : kernels.short_rows.any;
        if (of_a_lane && s.axis <= softmax_tiny_row_axis[1]) {
            plan.short_rows = kernels.short_rows.tiny[s.axis > softmax_tiny_row_axis[0] ? 1 : 0];
            plan.batches = std::min(plan.batches, softmax_tiny_row_batches);
            plan.warp_rows = warp_threads * plan.batches;
        }
    }
}

// Of all but short rows.
SoftmaxPlan plan_shape(const Shape &s, std::size_t element_bytes, LoadPolicy places, bool same_type, GpuFacts gpu) {
    SoftmaxPlan plan{.regime = SoftmaxRegime::registers, .tiles = divide_up(s.axis, softmax_block), .tiles_a_warp = 1};
    const SoftmaxPolicy &policy = softmax_policy(gpu);
    const std::size_t rows = s.outer * s.inner;
    // With a row for every multiprocessor there is nothing to spread.
    const bool spreads = are_few_tiles(rows * plan.tiles, gpu) && rows < static_cast<std::size_t>(gpu.multiprocessors);
    const std::size_t most_of_one = spreads ? rowwise_policy(gpu).few_cta_warps : rowwise_policy(gpu).cta_warps;
    if (s.inner > 1) {
        plan.regime = SoftmaxRegime::general;
        if (same_type && s.axis >= policy.register_tile_axis) {
            plan_tiles(plan, s, element_bytes, gpu);
        }
    } else if (gpu.cluster_blocks > 0 && plan.tiles > most_of_one &&
               plan.tiles <= static_cast<std::size_t>(gpu.cluster_blocks) *
                                 (has_narrow_tiles(places) ? unaligned_cluster_warps(element_bytes)
                                                           : most_cluster_warps(element_bytes))) {
        plan.regime = SoftmaxRegime::clusters;
        plan.few = are_few_tiles(rows * plan.tiles, gpu);
        plan.load_balanced = (element_bytes == 2 || places != LoadPolicy::vectors) && !plan.few;
        const WarpRange warps = cluster_warps(plan.tiles, element_bytes, places, same_type, gpu);
        plan.cluster = cluster_of_row(rows, plan.tiles, warps.least, warps.most, gpu);
    } else if (plan.tiles > most_register_tiles) {
        plan.regime = SoftmaxRegime::two_pass_rows;
        const auto multiprocessors =
            static_cast<std::size_t>(std::min(gpu.multiprocessors, tuning::most_multiprocessors));
        const std::size_t wanted = multiprocessors * softmax_blocks_a_multiprocessor;
        const std::size_t splits_of_one = divide_up(plan.tiles, softmax_two_pass_row_warps);
        while (plan.tiles_a_warp < most_tiles_a_warp &&
               s.outer * divide_up(splits_of_one, plan.tiles_a_warp * 2) >= wanted) {
            plan.tiles_a_warp *= 2;
        }
        plan.splits = divide_up(splits_of_one, plan.tiles_a_warp);
    }
    return plan;
}

// Columns of whole vectors are read twice where tiles do not hold them, or are slower.
void plan_two_pass_columns(SoftmaxPlan &plan, const SoftmaxProblem &problem, const GpuFacts &gpu) {
    const std::size_t tiles = two_pass_column_tiles(problem);
    const bool many = problem.shape.axis >= softmax_policy(gpu).two_pass_column_axis &&
                      tiles >= static_cast<std::size_t>(gpu.multiprocessors);
    const bool alone = plan.regime == SoftmaxRegime::general && problem.shape.axis > softmax_whole_column_axis;
    if (tiles != 0 && (many || alone)) {
        plan.regime = SoftmaxRegime::two_pass_columns;
        plan.splits = plan.tiles;
    }
}

// Whether vectors of elements are converted as this job wants them.
bool is_converted(const SoftmaxProblem &problem) {
    return problem.dtype != ElementType::f64 && problem.output_dtype != ElementType::f64 &&
           !(problem.log && is_float_of_8_bits(problem.output_dtype));
}

// Whether elements are taken one at a time wherever the arrays lie.
bool takes_strided(const SoftmaxProblem &problem) {
    return problem.shape.axis_stride != 1 || !(problem.output_dtype == problem.dtype || is_converted(problem));
}

LoadPolicy places_of(const SoftmaxProblem &problem, std::size_t element_bytes) {
    const Shape &s = problem.shape;
    const bool one_type = problem.output_dtype == problem.dtype;
    if (takes_strided(problem)) {
        return LoadPolicy::strided;
    }
    if (s.axis == 0) { // nothing but row values is written
        return LoadPolicy::vectors;
    }
    const std::size_t elements = bytes_of_vector / element_bytes;
    const bool aligned = s.axis % elements == 0 && steps_by_vectors(s.outer, s.outer_stride, elements) &&
                         is_aligned_for(problem.input, elements, problem.dtype) &&
                         is_aligned_for(problem.output, elements, problem.output_dtype);
    return !aligned ? LoadPolicy::unaligned : one_type ? LoadPolicy::vectors : LoadPolicy::converted;
}

// Shifted and converted kernels have blocks of up to softmax_unaligned_warps: without clusters, the longest rows of one
// block take their elements one at a time.
LoadPolicy served_places(LoadPolicy places, std::size_t row_tiles, const GpuFacts &gpu) {
    const bool too_long = row_tiles > softmax_unaligned_warps && row_tiles <= most_register_tiles;
    return has_narrow_tiles(places) && gpu.cluster_blocks == 0 && too_long ? LoadPolicy::strided : places;
}

} // namespace

SoftmaxPlan with_wide_cluster(SoftmaxPlan plan, std::size_t rows, const GpuFacts &gpu) {
    const std::size_t warps = are_few_tiles(rows * plan.tiles, gpu) ? 1 : softmax_preferred_cluster_warps;
    plan.cluster = subtree_cluster(plan.tiles, warps, softmax_wide_cluster_blocks);
    return plan;
}

bool wants_wide_cluster(const SoftmaxPlan &plan, std::size_t rows, const GpuFacts &gpu) {
    const SoftmaxPolicy &policy = softmax_policy(gpu);
    const bool rather_few = rows * plan.tiles < gpu.on_all(policy.wide_cluster_few_tiles);
    return plan.tiles > (rather_few ? policy.wide_cluster_tiles : policy.wide_cluster_long_tiles);
}

SoftmaxArguments arguments_of_problem(const SoftmaxProblem &problem) {
    const Shape &s = problem.shape;
    SoftmaxArguments a{};
    a.input = problem.input;
    a.output = problem.output;
    want_row_values(a, problem.logsumexp, problem.maximum);
    a.outer = s.outer;
    a.axis = s.axis;
    a.inner = s.inner;
    a.outer_stride = s.outer_stride;
    a.axis_stride = s.axis_stride;
    a.inner_stride = s.inner_stride;
    a.scale = problem.scale;
    a.narrow_scale = static_cast<float>(problem.scale);
    a.logsumexp_type = problem.logsumexp_dtype;
    a.input_type = problem.dtype;
    a.output_type = problem.output_dtype;
    a.scaled = problem.scale != 1.0;
    a.log = problem.log;
    a.empty_row_zero = problem.empty_row_zero;
    return a;
}

bool wants_row_values(const SoftmaxProblem &problem) {
    return problem.logsumexp != nullptr || problem.maximum != nullptr;
}

bool is_logsumexp_alone(const SoftmaxProblem &problem) {
    return problem.output == nullptr && problem.maximum == nullptr && leaves_nothing_out(problem.selection);
}

bool takes_column_vectors(const SoftmaxProblem &problem) {
    const Shape &s = problem.shape;
    const std::size_t element_bytes = traits_of(problem.dtype).size, elements = bytes_of_vector / element_bytes;
    const bool scaled_halves = element_bytes == 2 && problem.scale != 1.0;
    const bool one_type = problem.output == nullptr || problem.output_dtype == problem.dtype;
    return !scaled_halves && one_type && s.inner_stride == 1 && s.inner % elements == 0 &&
           are_whole_vectors(s.axis_stride, elements) && steps_by_vectors(s.outer, s.outer_stride, elements) &&
           is_aligned(problem.input, bytes_of_vector) && is_aligned(problem.output, bytes_of_vector);
}

LoadPolicy softmax_places(const SoftmaxProblem &problem, const SoftmaxKernels &kernels, const GpuFacts &gpu) {
    const auto element_bytes = static_cast<std::size_t>(kernels.element_bytes);
    return served_places(places_of(problem, element_bytes), divide_up(problem.shape.axis, softmax_block), gpu);
}

SoftmaxPlan plan_softmax(const SoftmaxProblem &problem, const SoftmaxKernels &kernels, LoadPolicy places,
                         const GpuFacts &gpu) {
    SoftmaxPlan plan = plan_shape(problem.shape, static_cast<std::size_t>(kernels.element_bytes), places,
                                  problem.output_dtype == problem.dtype, gpu);
    plan_short_rows(plan, problem, kernels, places, gpu);
    plan_two_pass_columns(plan, problem, gpu);
    return plan;
}

bool writes_maxima(const SoftmaxPlan &plan) {
    return plan.regime == SoftmaxRegime::registers || plan.regime == SoftmaxRegime::clusters;
}

std::size_t workspace_bytes(const Shape &s, const SoftmaxPlan &plan) {
    return plan.splits == 0 ? 0 : s.outer * s.inner * (plan.splits + 1) * sizeof(StoredState);
}

// Not where two kernels side by side leave some multiprocessors more to do than others.
bool gains_by_dependent_launch(std::size_t tile_count, const GpuFacts &gpu) {
    const SoftmaxPolicy &policy = softmax_policy(gpu);
    return tile_count < gpu.on_all(policy.undependent_least_tiles) ||
           tile_count >= gpu.on_all(policy.undependent_most_tiles);
}

std::size_t plain_softmax_workspace_bytes(const SoftmaxProblem &problem) {
    constexpr GpuFacts most_demanding_gpu{tuning::most_multiprocessors, 0, false};
    const Shape &shape = problem.shape;
    if (shape.inner == 1 && takes_strided(problem)) {
        return general_softmax_workspace_bytes(problem);
    }
    if (shape.inner > 1) {
        return std::max(general_softmax_workspace_bytes(problem), most_lookback_columns_bytes(problem));
    }
    const std::size_t bytes =
        std::max(workspace_bytes(shape, plan_shape(shape, 0, LoadPolicy::vectors, false, most_demanding_gpu)),
                 most_lookback_bytes(problem));
    const bool may_be_general = problem.maximum != nullptr || shape.outer > most_blocks / softmax_wide_cluster_blocks;
    return may_be_general ? std::max(bytes, general_softmax_workspace_bytes(problem)) : bytes;
}

} // namespace wr::cuda
