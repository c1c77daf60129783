#include "cuda/softmax/logsumexp/logsumexp.h"

#include "cuda/common/launch.h"
#include "cuda/common/tuning.h"
#include "cuda/common/vector_types.h"
#include "cuda/common/warp.h"
#include "cuda/softmax/plan.h"
#include "numerics/softmax.h"

#include <algorithm>

namespace wr::cuda {

namespace {

constexpr std::size_t lane_elements = softmax_block / warp_threads;

constexpr std::ptrdiff_t most_stride = 1 << 22; // of short rows: 31 of them are counted in 32 bits

bool allows(const SoftmaxProblem &p) {
    const Shape &s = p.shape;
    return is_logsumexp_alone(p) && p.scale == 1.0 && s.inner == 1 && s.axis > 0 && s.axis_stride == 1 &&
           (s.axis >= softmax_block || (s.outer_stride < most_stride && s.outer_stride > -most_stride));
}

// Whether rows are whole vectors on their boundaries.
bool is_aligned(const SoftmaxProblem &p) {
    const Shape &s = p.shape;
    const std::size_t elements = elements_of_vector(p.dtype);
    return reinterpret_cast<std::uintptr_t>(p.input) % bytes_of_vector == 0 && s.axis % elements == 0 &&
           (s.outer == 1 || s.outer_stride % static_cast<std::ptrdiff_t>(elements) == 0);
}

// nullptr: not served.
const void *rows_kernel(ElementType dtype, bool aligned) {
    return of_vector_type(dtype, [&]<class T>() { return logsumexp_rows_kernel<T>(aligned); });
}

// Whether these rows, which fill a tile, are quicker by shorter runs, of which the second-level cache keeps nothing.
bool wants_short_runs(const SoftmaxProblem &p) {
    const std::size_t axis = p.shape.axis;
    return p.dtype == ElementType::f32 && is_aligned(p) && softmax_block % axis == 0 &&
           axis > tuning::logsumexp_short_run_row_least && axis <= tuning::logsumexp_short_run_row_most;
}

// That a warp holds.
int tile_rows(const LogSumExpPlan &plan) { return warp_lanes / plan.row_lanes; }

// How units follow each other in memory, and what is in each.
void set_steps(LogSumExpArguments &a, const LogSumExpPlan &plan, const Shape &s, std::ptrdiff_t element_bytes) {
    const auto rows_of_unit = static_cast<std::size_t>(tile_rows(plan));
    const std::size_t elements = plan.pieces > 1 ? plan.unit_blocks * softmax_block : rows_of_unit * s.axis;
    const std::size_t last =
        plan.pieces > 1 ? s.axis - (plan.pieces - 1) * elements : (s.outer - (plan.units - 1) * rows_of_unit) * s.axis;
    a.row_step = static_cast<std::ptrdiff_t>(rows_of_unit) * s.outer_stride * element_bytes;
    a.unit_step = a.row_step - static_cast<std::ptrdiff_t>((plan.unit_blocks - 1) * softmax_block) * element_bytes;
    a.unit_blocks = static_cast<std::int32_t>(plan.unit_blocks);
    a.unit_elements = static_cast<std::int32_t>(elements);
    a.last_blocks = plan.pieces > 1 ? static_cast<std::int32_t>(divide_up(last, softmax_block)) : a.unit_blocks;
    a.last_elements = static_cast<std::int32_t>(last);
}

// Where several rows share a tile.
void set_rows_of_tile(LogSumExpArguments &a, const Shape &s, ElementType type) {
    const std::size_t elements = elements_of_vector(type), element_bytes = bytes_of_vector / elements;
    a.row_bytes = static_cast<std::int32_t>(s.outer_stride * static_cast<std::ptrdiff_t>(element_bytes));
    a.partial = s.axis % lane_elements != 0;
    a.apart = s.outer_stride != static_cast<std::ptrdiff_t>(s.axis);
    a.row_vectors = static_cast<std::int32_t>(divide_up(s.axis + elements - 1, elements));
    a.row_reciprocal = 65536 / a.row_vectors + 1;
    const std::int32_t last_row = (a.tile_rows - 1) * a.row_bytes;
    a.tile_low = std::min(last_row, 0);
    a.tile_high = std::max(last_row, 0) + static_cast<std::int32_t>(s.axis * element_bytes);
}

// All but where results go.
LogSumExpArguments arguments_of(const LogSumExpPlan &plan, const SoftmaxProblem &p) {
    const std::size_t element_bytes = traits_of(p.dtype).size;
    LogSumExpArguments own{};
    own.input = p.input;
    own.rows = p.shape.outer;
    own.axis = p.shape.axis;
    own.outer_stride = p.shape.outer_stride;
    own.units = static_cast<std::uint32_t>(plan.units);
    own.units_a_warp = static_cast<std::uint32_t>(plan.units_a_warp);
    own.pieces = static_cast<std::uint32_t>(plan.pieces);
    own.row_lanes = plan.row_lanes;
    own.tile_rows = tile_rows(plan);
    own.by_blocks = plan.by_blocks;
    own.output_type = p.logsumexp_dtype;
    set_steps(own, plan, p.shape, static_cast<std::ptrdiff_t>(element_bytes));
    own.hull = hull_of(p.input, p.shape, element_bytes);
    own.any_may_be_cut = p.shape.outer > 1 && p.shape.outer_stride < static_cast<std::ptrdiff_t>(p.shape.axis);
    own.whole_vectors = {own.hull.begin + (bytes_of_vector - 1), own.hull.end - (bytes_of_vector - 1)};
    if (own.tile_rows > 1) {
        set_rows_of_tile(own, p.shape, p.dtype);
    }
    return own;
}

} // namespace

LogSumExpPlan plan_logsumexp(const SoftmaxProblem &problem) {
    constexpr LogSumExpPlan not_served{};
    if (rows_kernel(problem.dtype, true) == nullptr || !allows(problem)) {
        return not_served;
    }
    const std::size_t rows = problem.shape.outer, axis = problem.shape.axis;
    const std::size_t blocks = divide_up(axis, softmax_block);
    LogSumExpPlan plan{rows, 1, 1, blocks, warp_lanes, false};
    if (blocks > 1 && (blocks > tuning::logsumexp_warp_blocks || rows < tuning::logsumexp_warp_units)) {
        plan.by_blocks = true;
        plan.unit_blocks = logsumexp_most_unit_blocks;
        while (blocks > tuning::logsumexp_one_launch_blocks && plan.unit_blocks > logsumexp_block_warps &&
               rows * divide_up(blocks, plan.unit_blocks) < tuning::logsumexp_block_units) {
            plan.unit_blocks /= 2;
        }
        plan.unit_blocks = std::min(plan.unit_blocks, blocks);
        plan.pieces = divide_up(blocks, plan.unit_blocks);
        plan.units = rows * plan.pieces;
    } else {
        if (blocks == 1) {
            const std::size_t lanes = divide_up(axis, lane_elements);
            plan.row_lanes = static_cast<int>(lanes > warp_threads / 2 ? warp_threads : lanes);
            plan.units = divide_up(rows, static_cast<std::size_t>(tile_rows(plan)));
        }
        const std::size_t run = wants_short_runs(problem) ? tuning::logsumexp_short_run : tuning::logsumexp_run;
        plan.units_a_warp = std::max<std::size_t>(run / std::max<std::size_t>(blocks, 1), 1);
        while (plan.units_a_warp > 1 && plan.units / plan.units_a_warp < tuning::logsumexp_warp_units) {
            plan.units_a_warp /= 2;
        }
    }
    return plan.units <= most_blocks ? plan : not_served;
}

std::size_t logsumexp_workspace_bytes(const SoftmaxProblem &problem, const LogSumExpPlan &plan) {
    return plan.pieces <= 1 ? 0 : problem.shape.outer * (plan.pieces + 1) * sizeof(GeneralState);
}

cudaError_t launch_logsumexp(const LogSumExpPlan &plan, const void *totals, GeneralSoftmaxArguments &a, bool dependent,
                             cudaStream_t stream) {
    const SoftmaxProblem &p = a.problem;
    LogSumExpArguments own = arguments_of(plan, p);
    own.output = p.logsumexp;
    own.states = plan.pieces > 1 ? a.states : nullptr;
    if (wants_short_runs(p) && own.hull.end - own.hull.begin > tuning::softmax_cached_end_bytes) {
        own.read_again_from = own.hull.end;
    }
    constexpr auto warps = static_cast<std::size_t>(logsumexp_block_warps);
    const std::size_t blocks = plan.by_blocks ? plan.units : divide_up(plan.units, plan.units_a_warp * warps);
    const cudaError_t error = launch({rows_kernel(p.dtype, is_aligned(p) && !own.apart), blocks,
                                      static_cast<int>(warps * warp_threads), 1, 1, 1, dependent},
                                     &own, stream);
    if (error != cudaSuccess || plan.pieces == 1) {
        return error;
    }
    return launch_logsumexp_totals(totals, a, dependent, stream);
}

cudaError_t launch_logsumexp_totals(const void *totals, GeneralSoftmaxArguments &a, bool dependent,
                                    cudaStream_t stream) {
    const std::size_t rows = a.problem.shape.outer * a.problem.shape.inner;
    const auto rows_a_block =
        std::size_t{general_block_warps} * static_cast<std::size_t>(rows_of_totals_warp(a.pieces));
    return launch(
        {totals, std::min(divide_up(rows, rows_a_block), most_blocks), general_block_threads, 1, 1, 1, dependent}, &a,
        stream);
}

bool serves_piece_states(const SoftmaxProblem &problem, std::size_t pieces, std::size_t piece_blocks) {
    return rows_kernel(problem.dtype, true) != nullptr && problem.scale == 1.0 && problem.shape.inner == 1 &&
           problem.shape.axis_stride == 1 && pieces > 1 && piece_blocks <= logsumexp_most_unit_blocks &&
           problem.shape.outer * pieces <= most_blocks;
}

cudaError_t launch_piece_states(const SoftmaxProblem &problem, std::size_t pieces, std::size_t piece_blocks,
                                StoredState *states, bool dependent, cudaStream_t stream) {
    const LogSumExpPlan plan{problem.shape.outer * pieces, 1, pieces, piece_blocks, warp_lanes, true};
    LogSumExpArguments own = arguments_of(plan, problem);
    own.states = states;
    if (own.hull.end - own.hull.begin > tuning::softmax_cached_end_bytes) {
        // The outputs begin with the end of the input.
        own.read_again_from = own.hull.end - tuning::softmax_cached_end_bytes;
    }
    Launch how{rows_kernel(problem.dtype, is_aligned(problem)), plan.units,
               static_cast<int>(logsumexp_block_warps * warp_threads)};
    how.dependent = dependent;
    return launch(how, &own, stream);
}

} // namespace wr::cuda
