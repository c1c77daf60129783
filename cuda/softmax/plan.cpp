#include "cuda/softmax/plan.h"

#include "cuda/common/cluster_shape.h"
#include "cuda/common/launch.h"
#include "cuda/common/tuning.h"
#include "cuda/common/vector_types.h"
#include "cuda/common/warp.h"
#include "cuda/gpu.h"
#include "cuda/rowwise/sub_warp_rows.h"
#include "cuda/softmax/lookback/columns.h"
#include "cuda/softmax/lookback/rows.h"
#include "cuda/softmax/rows/cooperative_rows.h"
#include "cuda/softmax/two_pass/columns.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

constexpr std::size_t most_register_blocks = 32; // a row of 32 base blocks is a block of 1024 threads
constexpr std::size_t most_cluster_warps = 32;   // of a block
constexpr std::size_t most_blocks_a_warp = 32;   // a warp keeps one state a lane

// Whether there are so few base blocks that each should get a multiprocessor's attention to itself.
bool is_small(std::size_t base_blocks, const GpuFacts &gpu) {
    return base_blocks < static_cast<std::size_t>(gpu.multiprocessors) * tuning::softmax_few_blocks;
}

void set_cluster(SoftmaxPlan &plan, ClusterShape cluster) {
    plan.cluster_blocks = cluster.blocks;
    plan.cluster_warps = cluster.warps;
}

// Blocks of a cluster and warps of a block for rows of so many base blocks, blocks of `warps` warps where there are
// enough rows.
void plan_cluster(SoftmaxPlan &plan, std::size_t rows, std::size_t warps, const GpuFacts &gpu) {
    const std::size_t least = is_small(rows * plan.blocks, gpu) ? 1 : warps;
    set_cluster(plan, smallest_cluster(plan.blocks, least, static_cast<std::size_t>(gpu.cluster_blocks)));
}

// The same for blocks of so many warps at least and at most, so that as few as possible are behind the row's end.
void plan_full_cluster(SoftmaxPlan &plan, std::size_t rows, std::size_t least_warps, std::size_t most_warps,
                       const GpuFacts &gpu) {
    const ClusterShape fullest =
        fullest_cluster(plan.blocks, least_warps, most_warps, static_cast<std::size_t>(gpu.cluster_blocks));
    if (is_small(rows * plan.blocks, gpu) || fullest.blocks == 0) {
        plan_cluster(plan, rows, most_warps, gpu);
    } else {
        set_cluster(plan, fullest);
    }
}

// The same for rows off the boundaries: of more than 32 base blocks between softmax_shifted_warps and as many warps as
// a block may have (H200, 50257 by 5 blocks of 10 warps: f32 3.30 TB/s, bf16 2.59; by 7 of 8 at most 2.94 and 2.13).
void plan_shifted_cluster(SoftmaxPlan &plan, std::size_t rows, std::size_t element_bytes, bool small_blocks,
                          const GpuFacts &gpu) {
    if (plan.blocks > warp_threads) {
        plan_full_cluster(plan, rows, softmax_shifted_warps, shifted_cluster_warps(element_bytes), gpu);
    } else if (small_blocks) {
        plan_full_cluster(plan, rows, tuning::softmax_least_cluster_warps, softmax_shifted_warps, gpu);
    } else {
        plan_cluster(plan, rows, softmax_shifted_warps, gpu);
    }
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
            plan.tile = size;
            plan.cluster_blocks = blocks;
            return;
        }
    }
}

// Whether short rows that are converted share a warp.
bool packs_into(const SoftmaxProblem &problem) {
    return problem.dtype == ElementType::f32 || problem.output_dtype == ElementType::f32;
}

// Elements of the longest rows of whole vectors that share a warp, or have one as if they did.
std::size_t longest_packed_row(const SoftmaxProblem &problem, SoftmaxPlaces places, std::size_t element_bytes) {
    if (element_bytes != 2) {
        return tuning::softmax_short_row;
    }
    const bool on_boundaries = places == SoftmaxPlaces::vectors;
    const bool has_quick_rows =
        problem.output_dtype == problem.dtype &&
        (wants_row_values(problem) || (on_boundaries && (problem.log || problem.shape.axis <= softmax_three_quarters)));
    return has_quick_rows ? tuning::softmax_short_row : tuning::softmax_narrow_packed_row;
}

// Rows that share a warp, if these do.
void plan_short_rows(SoftmaxPlan &plan, const SoftmaxProblem &problem, const SoftmaxKernels &kernels,
                     SoftmaxPlaces places, const GpuFacts &gpu) {
    const Shape &s = problem.shape;
    const auto element_bytes = static_cast<std::size_t>(kernels.element_bytes);
    const bool converted = problem.output_dtype != problem.dtype;
    const bool packs = !converted || (places == SoftmaxPlaces::converted && packs_into(problem));
    if (places == SoftmaxPlaces::singles || !packs || s.inner != 1 || s.axis == 0 ||
        s.outer_stride != static_cast<std::ptrdiff_t>(s.axis)) {
        return;
    }
    const std::size_t elements = bytes_of_vector / element_bytes; // of a vector
    const std::size_t registers = softmax_block / warp_threads / elements;
    const std::size_t vectors = divide_up(s.axis, elements);
    const void *const *const packed = converted                          ? kernels.converted.packed
                                      : places == SoftmaxPlaces::vectors ? kernels.short_rows.packed
                                                                         : kernels.short_rows.staged;
    // Half of a row's places may be empty (f32 of 16: 3.16 TB/s on an H200, a row a lane 1.73).
    if (packed[0] != nullptr && s.axis % elements == 0 && 2 * std::bit_ceil(vectors) >= registers &&
        s.axis <= longest_packed_row(problem, places, element_bytes)) {
        const RowPacking packing(s.axis, elements);
        plan.regime = SoftmaxRegime::short_rows;
        plan.short_rows = packed;
        plan.lanes = packing.places;
        plan.batches = 1;
        plan.warp_rows = packing.warp_rows;
    } else if (!converted && s.axis <= tuning::softmax_short_row) {
        plan.regime = SoftmaxRegime::short_rows;
        const StagedRows staged(s, element_bytes, registers + 1, gpu);
        plan.lanes = staged.lanes;
        plan.batches = staged.batches;
        plan.warp_rows = staged.warp_rows;
        const bool of_a_lane = plan.lanes == 1 && kernels.short_rows.of_a_lane[0] != nullptr;
        plan.short_rows = of_a_lane ? kernels.short_rows.of_a_lane : kernels.short_rows.any;
    }
}

bool has_narrow_blocks(SoftmaxPlaces places) {
    return places == SoftmaxPlaces::shifted || places == SoftmaxPlaces::converted;
}

// Of all but short rows.
SoftmaxPlan plan_shape(const Shape &s, std::size_t element_bytes, SoftmaxPlaces places, bool same_type, GpuFacts gpu) {
    SoftmaxPlan plan{
        SoftmaxRegime::registers, divide_up(s.axis, softmax_block), 0, 1, 0, 0, 0, nullptr, 0, 0, 0, false, false};
    const std::size_t one_block = element_bytes == 2 ? tuning::softmax_narrow_row_warps : tuning::softmax_row_warps;
    const std::size_t rows = s.outer * s.inner;
    const std::size_t most_of_one = is_small(rows * plan.blocks, gpu) ? tuning::softmax_small_row_warps : one_block;
    if (s.inner > 1) {
        plan.regime = SoftmaxRegime::general;
        if (same_type && s.axis >= tuning::softmax_tile_axis) {
            plan_tiles(plan, s, element_bytes, gpu);
        }
    } else if (gpu.cluster_blocks > 0 && plan.blocks > most_of_one &&
               plan.blocks <=
                   static_cast<std::size_t>(gpu.cluster_blocks) *
                       (has_narrow_blocks(places) ? shifted_cluster_warps(element_bytes) : most_cluster_warps)) {
        plan.regime = SoftmaxRegime::clusters;
        plan.few = is_small(rows * plan.blocks, gpu);
        plan.balanced = (element_bytes == 2 || places != SoftmaxPlaces::vectors) && !plan.few;
        const bool small_blocks = element_bytes == sizeof(float) && same_type;
        if (has_narrow_blocks(places)) {
            plan_shifted_cluster(plan, rows, element_bytes, small_blocks, gpu);
        } else if (small_blocks && plan.blocks <= tuning::softmax_short_cluster_row) {
            plan_full_cluster(plan, rows, tuning::softmax_least_cluster_warps, tuning::softmax_cluster_warps, gpu);
        } else {
            const std::size_t short_row =
                element_bytes == 2 ? tuning::softmax_narrow_short_cluster_row : tuning::softmax_short_cluster_row;
            plan_cluster(plan, rows,
                         plan.blocks <= short_row ? tuning::softmax_cluster_warps : tuning::softmax_long_cluster_warps,
                         gpu);
        }
    } else if (plan.blocks > most_register_blocks) {
        plan.regime = SoftmaxRegime::long_rows;
        const auto multiprocessors =
            static_cast<std::size_t>(std::min(gpu.multiprocessors, tuning::most_multiprocessors));
        const std::size_t wanted = multiprocessors * tuning::softmax_blocks_a_multiprocessor;
        const std::size_t pieces_of_one = divide_up(plan.blocks, softmax_long_row_warps);
        while (plan.blocks_a_warp < most_blocks_a_warp &&
               s.outer * divide_up(pieces_of_one, plan.blocks_a_warp * 2) >= wanted) {
            plan.blocks_a_warp *= 2;
        }
        plan.pieces = divide_up(pieces_of_one, plan.blocks_a_warp);
    }
    return plan;
}

// Columns of whole vectors are read twice where tiles do not hold them, or are slower.
void plan_tall_columns(SoftmaxPlan &plan, const SoftmaxProblem &problem, const GpuFacts &gpu) {
    const std::size_t tiles = tall_tiles(problem);
    const bool many = problem.shape.axis >= tuning::softmax_tall_axis &&
                      tiles >= static_cast<std::size_t>(gpu.multiprocessors) * tuning::softmax_tall_tiles;
    const bool alone = plan.regime == SoftmaxRegime::general && problem.shape.axis > tuning::softmax_whole_column_axis;
    if (tiles != 0 && (many || alone)) {
        plan.regime = SoftmaxRegime::tall_columns;
        plan.pieces = plan.blocks;
    }
}

// Whether vectors of elements are converted as this job wants them.
bool is_converted(const SoftmaxProblem &problem) {
    return problem.dtype != ElementType::f64 && problem.output_dtype != ElementType::f64 &&
           !(problem.log && is_float_of_8_bits(problem.output_dtype));
}

// Whether elements are taken one at a time wherever the arrays lie.
bool takes_singles(const SoftmaxProblem &problem) {
    return problem.shape.axis_stride != 1 || !(problem.output_dtype == problem.dtype || is_converted(problem));
}

SoftmaxPlaces places_of(const SoftmaxProblem &problem, std::size_t element_bytes) {
    const Shape &s = problem.shape;
    const bool one_type = problem.output_dtype == problem.dtype;
    if (takes_singles(problem)) {
        return SoftmaxPlaces::singles;
    }
    if (s.axis == 0) { // nothing but row values is written
        return SoftmaxPlaces::vectors;
    }
    const std::size_t elements = bytes_of_vector / element_bytes;
    const auto is_whole = [&](const void *at, ElementType type) { // a vector's elements of this type may start here
        const std::size_t bytes = std::min(bytes_of_vector, elements * traits_of(type).size);
        return reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
    };
    const bool row_starts = s.outer <= 1 || s.outer_stride % static_cast<std::ptrdiff_t>(elements) == 0;
    const bool aligned = s.axis % elements == 0 && row_starts && is_whole(problem.input, problem.dtype) &&
                         is_whole(problem.output, problem.output_dtype);
    return !aligned ? SoftmaxPlaces::shifted : one_type ? SoftmaxPlaces::vectors : SoftmaxPlaces::converted;
}

// Shifted and converted kernels have blocks of up to softmax_shifted_warps: without clusters, the longest rows of one
// block take their elements one at a time.
SoftmaxPlaces served_places(SoftmaxPlaces places, std::size_t row_blocks, const GpuFacts &gpu) {
    const bool too_long = row_blocks > softmax_shifted_warps && row_blocks <= most_register_blocks;
    return has_narrow_blocks(places) && gpu.cluster_blocks == 0 && too_long ? SoftmaxPlaces::singles : places;
}

} // namespace

SoftmaxPlan with_wide_cluster(SoftmaxPlan plan, std::size_t rows, const GpuFacts &gpu) {
    const std::size_t warps = is_small(rows * plan.blocks, gpu) ? 1 : tuning::softmax_cluster_warps;
    set_cluster(plan, subtree_cluster(plan.blocks, warps, tuning::softmax_wide_cluster_blocks));
    return plan;
}

bool wants_wide_cluster(const SoftmaxPlan &plan, std::size_t rows, const GpuFacts &gpu) {
    const bool rather_few =
        rows * plan.blocks < static_cast<std::size_t>(gpu.multiprocessors) * tuning::softmax_wide_blocks;
    return plan.blocks > (rather_few ? tuning::softmax_wide_row_blocks : tuning::softmax_wide_long_row_blocks);
}

SoftmaxProblem normalised(SoftmaxProblem problem) {
    Shape &s = problem.shape;
    if (s.axis == 0) {
        s = {s.outer * s.inner, 0, 1, 0, 1, 1};
    }
    return problem;
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
    const auto element_bytes = static_cast<std::ptrdiff_t>(traits_of(problem.dtype).size);
    const auto whole = [&](std::ptrdiff_t elements) {
        return elements * element_bytes % static_cast<std::ptrdiff_t>(bytes_of_vector) == 0;
    };
    const bool scaled_halves = element_bytes == 2 && problem.scale != 1.0;
    const bool one_type = problem.output == nullptr || problem.output_dtype == problem.dtype;
    return !scaled_halves && one_type && s.inner_stride == 1 && whole(static_cast<std::ptrdiff_t>(s.inner)) &&
           whole(s.axis_stride) && (s.outer <= 1 || whole(s.outer_stride)) &&
           reinterpret_cast<std::uintptr_t>(problem.input) % bytes_of_vector == 0 &&
           reinterpret_cast<std::uintptr_t>(problem.output) % bytes_of_vector == 0;
}

SoftmaxPlaces softmax_places(const SoftmaxProblem &problem, const SoftmaxKernels &kernels, const GpuFacts &gpu) {
    const auto element_bytes = static_cast<std::size_t>(kernels.element_bytes);
    return served_places(places_of(problem, element_bytes), divide_up(problem.shape.axis, softmax_block), gpu);
}

SoftmaxPlan plan_softmax(const SoftmaxProblem &problem, const SoftmaxKernels &kernels, SoftmaxPlaces places,
                         const GpuFacts &gpu) {
    SoftmaxPlan plan = plan_shape(problem.shape, static_cast<std::size_t>(kernels.element_bytes), places,
                                  problem.output_dtype == problem.dtype, gpu);
    plan_short_rows(plan, problem, kernels, places, gpu);
    plan_tall_columns(plan, problem, gpu);
    return plan;
}

bool writes_maxima(const SoftmaxPlan &plan) {
    return plan.regime == SoftmaxRegime::registers || plan.regime == SoftmaxRegime::clusters;
}

std::size_t workspace_bytes(const Shape &s, const SoftmaxPlan &plan) {
    return plan.pieces == 0 ? 0 : s.outer * s.inner * (plan.pieces + 1) * sizeof(StoredState);
}

// Not where two kernels side by side leave some multiprocessors more to do than others.
bool gains_by_dependent_launch(std::size_t base_blocks, const GpuFacts &gpu) {
    const auto multiprocessors = static_cast<std::size_t>(gpu.multiprocessors);
    return base_blocks < multiprocessors * tuning::softmax_dependent_few_blocks ||
           base_blocks >= multiprocessors * tuning::softmax_dependent_many_blocks;
}

std::size_t softmax_workspace_bytes(const SoftmaxProblem &problem) {
    constexpr GpuFacts most_demanding_gpu{tuning::most_multiprocessors, 0, false};
    const SoftmaxProblem normal = normalised(problem);
    const Shape &shape = normal.shape;
    if (shape.inner == 1 && takes_singles(normal)) {
        return softmax_general_workspace_bytes(normal);
    }
    if (shape.inner > 1) {
        return std::max(softmax_general_workspace_bytes(normal), most_shared_columns_bytes(normal));
    }
    const std::size_t bytes =
        std::max({workspace_bytes(shape, plan_shape(shape, 0, SoftmaxPlaces::vectors, false, most_demanding_gpu)),
                  most_relay_bytes(problem), most_grid_row_bytes(problem)});
    return problem.maximum == nullptr ? bytes : std::max(bytes, softmax_general_workspace_bytes(normal));
}

} // namespace wr::cuda
