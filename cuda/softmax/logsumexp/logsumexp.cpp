#include "cuda/softmax/launches.h"

#include "cuda/common/gpu_facts.h"
#include "cuda/common/launch.h"
#include "cuda/common/vectors.h"
#include "cuda/softmax/plan.h"
#include "cuda/softmax/policy.h"
#include "numerics/softmax.h"

#include <algorithm>

namespace wr::cuda {

namespace {

// How rows are spread over warps. No units: not supported.
struct LogSumExpPlan {
    std::size_t units, units_a_warp;
    std::size_t splits, unit_tiles;
    int row_lanes;
    bool by_blocks; // blocks of threads take a unit each; else warps take units_a_warp
};

constexpr std::size_t lane_elements = softmax_block / warp_threads;

constexpr std::ptrdiff_t most_stride = 1 << 22; // of short rows: 31 of them are counted in 32 bits

bool allows(const SoftmaxProblem &p) {
    const Shape &s = p.shape;
    return is_logsumexp_alone(p) && p.scale == 1.0 && s.inner == 1 && s.axis > 0 && s.axis_stride == 1 &&
           (s.axis >= softmax_block || (s.outer_stride < most_stride && s.outer_stride > -most_stride));
}

// Whether rows are whole vectors on their boundaries.
bool are_vectors(const SoftmaxProblem &p) {
    const Shape &s = p.shape;
    const std::size_t elements = elements_of_vector(p.dtype);
    return is_aligned(p.input, bytes_of_vector) && s.axis % elements == 0 &&
           steps_by_vectors(s.outer, s.outer_stride, elements);
}

// nullptr: not supported.
const void *rows_kernel(ElementType dtype, bool aligned) {
    return of_vector_type(dtype, [&]<class T>() { return logsumexp_rows_kernel<T>(aligned); });
}

// That a warp holds.
int tile_rows(const LogSumExpPlan &plan) { return warp_lanes / plan.row_lanes; }

// How units follow each other in memory, and what is in each.
void set_steps(LogSumExpArguments &a, const LogSumExpPlan &plan, const Shape &s, std::ptrdiff_t element_bytes) {
    const auto rows_of_unit = static_cast<std::size_t>(tile_rows(plan));
    const std::size_t elements = plan.splits > 1 ? plan.unit_tiles * softmax_block : rows_of_unit * s.axis;
    const std::size_t last =
        plan.splits > 1 ? s.axis - (plan.splits - 1) * elements : (s.outer - (plan.units - 1) * rows_of_unit) * s.axis;
    a.row_step = static_cast<std::ptrdiff_t>(rows_of_unit) * s.outer_stride * element_bytes;
    a.unit_step = a.row_step - static_cast<std::ptrdiff_t>((plan.unit_tiles - 1) * softmax_block) * element_bytes;
    a.unit_tiles = static_cast<std::int32_t>(plan.unit_tiles);
    a.unit_elements = static_cast<std::int32_t>(elements);
    a.last_tiles = plan.splits > 1 ? static_cast<std::int32_t>(divide_up(last, softmax_block)) : a.unit_tiles;
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
    own.splits = static_cast<std::uint32_t>(plan.splits);
    own.row_lanes = plan.row_lanes;
    own.tile_rows = tile_rows(plan);
    own.by_blocks = plan.by_blocks;
    own.output_type = p.logsumexp_dtype;
    set_steps(own, plan, p.shape, static_cast<std::ptrdiff_t>(element_bytes));
    own.readable_range = readable_range_of(p.input, p.shape, element_bytes);
    own.any_may_be_masked = p.shape.outer > 1 && p.shape.outer_stride < static_cast<std::ptrdiff_t>(p.shape.axis);
    own.whole_vectors = {own.readable_range.begin + (bytes_of_vector - 1),
                         own.readable_range.end - (bytes_of_vector - 1)};
    if (own.tile_rows > 1) {
        set_rows_of_tile(own, p.shape, p.dtype);
    }
    return own;
}

LogSumExpPlan plan_logsumexp(const SoftmaxProblem &problem, const SoftmaxPolicy &policy) {
    constexpr LogSumExpPlan not_served{};
    if (rows_kernel(problem.dtype, true) == nullptr || !allows(problem)) {
        return not_served;
    }
    const std::size_t rows = problem.shape.outer, axis = problem.shape.axis;
    const std::size_t blocks = divide_up(axis, softmax_block);
    LogSumExpPlan plan{rows, 1, 1, blocks, warp_lanes, false};
    if (blocks > 1 &&
        (blocks > policy.logsumexp_warp_tiles ||
         rows < (blocks <= logsumexp_block_warps ? policy.logsumexp_warp_rows : policy.logsumexp_warp_units))) {
        plan.by_blocks = true;
        plan.unit_tiles = logsumexp_most_unit_tiles;
        while (blocks > policy.logsumexp_one_launch_tiles && plan.unit_tiles > logsumexp_block_warps &&
               rows * divide_up(blocks, plan.unit_tiles) < policy.logsumexp_block_units) {
            plan.unit_tiles /= 2;
        }
        plan.unit_tiles = std::min(plan.unit_tiles, blocks);
        plan.splits = divide_up(blocks, plan.unit_tiles);
        plan.units = rows * plan.splits;
    } else {
        if (blocks == 1) {
            const std::size_t lanes = divide_up(axis, lane_elements);
            plan.row_lanes = static_cast<int>(lanes > warp_threads / 2 ? warp_threads : lanes);
            plan.units = divide_up(rows, static_cast<std::size_t>(tile_rows(plan)));
        }
        plan.units_a_warp = std::max<std::size_t>(policy.logsumexp_run / std::max<std::size_t>(blocks, 1), 1);
        while (plan.units_a_warp > 1 && plan.units / plan.units_a_warp < policy.logsumexp_warp_units) {
            plan.units_a_warp /= 2;
        }
    }
    return plan.units <= most_blocks ? plan : not_served;
}

cudaError_t launch_rows(const LogSumExpPlan &plan, const SoftmaxCall &call, SoftmaxArguments &a) {
    const SoftmaxProblem &p = call.problem;
    LogSumExpArguments own = arguments_of(plan, p);
    own.output = p.logsumexp;
    own.states = a.states;
    constexpr auto warps = static_cast<std::size_t>(logsumexp_block_warps);
    const std::size_t blocks = plan.by_blocks ? plan.units : divide_up(plan.units, plan.units_a_warp * warps);
    const cudaError_t error = launch({.kernel = rows_kernel(p.dtype, are_vectors(p) && !own.apart),
                                      .blocks = blocks,
                                      .threads = static_cast<int>(warps * warp_threads),
                                      .dependent = call.gpu.dependent_launch},
                                     &own, call.stream);
    if (error != cudaSuccess || plan.splits == 1) {
        return error;
    }
    return launch(softmax_totals_launch(call.kernels, a.outer, a.splits, call.gpu.dependent_launch), &a, call.stream);
}

std::size_t workspace_bytes(const SoftmaxProblem &problem, const LogSumExpPlan &plan) {
    return plan.splits <= 1 ? 0 : problem.shape.outer * (plan.splits + 1) * sizeof(StoredState);
}

} // namespace

std::size_t logsumexp_workspace_bytes_of_rows(const SoftmaxProblem &problem) {
    return std::max(workspace_bytes(problem, plan_logsumexp(problem, h200_softmax_policy)),
                    workspace_bytes(problem, plan_logsumexp(problem, plain_softmax_policy)));
}

cudaError_t launch_logsumexp(const SoftmaxCall &call, bool *supported) {
    const LogSumExpPlan plan = plan_logsumexp(call.problem, softmax_policy(call.gpu));
    *supported = plan.units != 0;
    if (!*supported) {
        return cudaSuccess;
    }
    const std::size_t bytes = workspace_bytes(call.problem, plan);
    Workspace workspace(call.problem, bytes, call.stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    SoftmaxArguments a = arguments_of_call(call);
    if (bytes != 0) {
        a.splits = plan.splits;
        a.totals = static_cast<StoredState *>(workspace.take(a.outer * sizeof(StoredState)));
        a.states = static_cast<StoredState *>(workspace.take(a.outer * a.splits * sizeof(StoredState)));
    }
    const cudaError_t launched = launch_rows(plan, call, a);
    const cudaError_t freed = workspace.finish();
    return launched != cudaSuccess ? launched : freed;
}

} // namespace wr::cuda
