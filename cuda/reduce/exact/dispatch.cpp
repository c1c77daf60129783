// Puts an exact sum on a stream: the sums of blocks, and where several share an axis what merges them.
#include "cuda/common/gpu_facts.h"
#include "cuda/common/launch.h"
#include "cuda/common/vectors.h"
#include "cuda/gpu.h"
#include "cuda/reduce/accumulators.h"
#include "cuda/reduce/exact/kernels.h"
#include "cuda/reduce/plan.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

// Blocks that share the work where outputs alone are too few: what an H200 holds at a time. The same for every GPU, so
// that a workspace is.
constexpr std::size_t blocks_of_narrow = 1024;
constexpr std::size_t blocks_of_f64 = 768;

// Elements of a thread, or it costs more than they do.
constexpr std::size_t least_of_a_thread = 16;

// Limbs have room for so many terms of a block; it is never met by what fits a GPU's memory.
constexpr std::size_t most_of_a_block = std::size_t{1} << 30;

// Blocks for long rows: an H200 holds 264 or 396 at a time. A warp takes rows of so many bytes and more, and shares
// them with others where each has so many; a block that shares a row with others has no less than that, and no thread
// more terms than its sums have room for.
constexpr std::size_t blocks_of_rows = 1584;
constexpr std::size_t bytes_of_a_warp = 2048;
constexpr std::size_t bytes_of_each_warp = 8192;
constexpr std::size_t bytes_of_a_split = std::size_t{1} << 15;
constexpr std::size_t most_of_a_split = most_terms_of_lane * exact_row_threads;

// Short rows: what their lanes have at most, and the fewest lanes, whose loads take whole sectors.
constexpr std::size_t bytes_of_a_lane = 16 * exact_short_row_vectors;
constexpr std::size_t least_lanes_of_a_row = 2;

struct ExactPlan {
    const void *kernel;
    int threads;
    int down;
    bool down_side_by_side;
    std::size_t splits, length, blocks;
};

bool has_products(const ReduceProblem &problem) { return problem.what.weights_dtype != ElementType::none; }

// Neighbouring columns are read by neighbouring threads, at least a warp of them.
int threads_down(const Shape &shape, int threads, bool columns) {
    const std::size_t wanted = std::bit_floor(std::max<std::size_t>(shape.axis / least_of_a_thread, 1));
    const int most = columns ? threads / std::min(threads, warp_lanes) : threads;
    return static_cast<int>(std::min<std::size_t>(wanted, static_cast<std::size_t>(most)));
}

// Cuts the axis into about as many splits as are wanted, of a multiple of `unit` elements.
void cut_axis(ExactPlan &plan, const Shape &shape, std::size_t wanted, std::size_t unit) {
    const std::size_t length = divide_up(shape.axis, std::max<std::size_t>(wanted, 1));
    const std::size_t groups = divide_up(shape.outer * shape.inner, static_cast<std::size_t>(plan.threads / plan.down));
    plan.length = std::max<std::size_t>(divide_up(length, unit), 1) * unit;
    plan.splits = std::max<std::size_t>(divide_up(shape.axis, plan.length), 1);
    plan.blocks = groups * plan.splits;
}

ExactPlan plan_of_any_layout(const ReduceProblem &problem) {
    const Shape &shape = problem.shape;
    const ElementType type = problem.what.dtype;
    const bool columns = shape.inner >= warp_threads && shape.axis_stride != 1;
    ExactPlan plan{};
    plan.kernel = exact_sum_kernel(type, has_products(problem));
    plan.threads = exact_threads(type, has_products(problem));
    plan.down = threads_down(shape, plan.threads, columns);
    plan.down_side_by_side = !columns;
    const std::size_t groups = divide_up(shape.outer * shape.inner, static_cast<std::size_t>(plan.threads / plan.down));
    const std::size_t most = shape.axis / (least_of_a_thread * static_cast<std::size_t>(plan.down));
    const std::size_t wanted = (type == ElementType::f64 ? blocks_of_f64 : blocks_of_narrow) / groups;
    cut_axis(plan, shape, std::max(std::min(wanted, most), divide_up(shape.axis, most_of_a_block)), 1);
    return plan;
}

std::size_t bytes_of_row(const ReduceProblem &problem) {
    return problem.shape.axis * traits_of(problem.what.dtype).size;
}

bool is_of_narrow_rows(const ReduceProblem &problem) {
    return problem.what.dtype != ElementType::f64 && !has_products(problem) && problem.shape.axis_stride == 1;
}

bool is_of_long_rows(const ReduceProblem &problem) {
    return is_of_narrow_rows(problem) && bytes_of_row(problem) >= bytes_of_a_warp;
}

ExactPlan plan_of_long_rows(const ReduceProblem &problem) {
    const Shape &shape = problem.shape;
    const std::size_t size = traits_of(problem.what.dtype).size, bytes = shape.axis * size;
    ExactPlan plan{};
    plan.kernel = exact_rows_kernel(problem.what.dtype);
    plan.threads = exact_row_threads;
    const std::size_t warps = std::bit_floor(std::max<std::size_t>(bytes / bytes_of_each_warp, 1));
    plan.down =
        static_cast<int>(std::min<std::size_t>(warps * warp_threads, static_cast<std::size_t>(exact_row_threads)));
    plan.down_side_by_side = true;
    const std::size_t groups = divide_up(shape.outer * shape.inner, static_cast<std::size_t>(plan.threads / plan.down));
    const std::size_t wanted = std::min(blocks_of_rows / groups, bytes / bytes_of_a_split);
    cut_axis(plan, shape, std::max(wanted, divide_up(shape.axis, most_of_a_split)), bytes_of_a_warp / size);
    return plan;
}

bool are_multiples_of_vectors(const ReduceProblem &problem) {
    const Shape &shape = problem.shape;
    const std::size_t elements = bytes_of_vector / traits_of(problem.what.dtype).size;
    return rows_are_aligned(shape, reinterpret_cast<std::uintptr_t>(problem.input), elements) &&
           shape.axis % elements == 0;
}

// What is no such row goes element by element, and neither needs a workspace.
bool is_of_short_rows(const ReduceProblem &problem) {
    const std::size_t bytes = bytes_of_row(problem);
    return is_of_narrow_rows(problem) && bytes != 0 && bytes <= warp_threads * bytes_of_a_lane &&
           are_multiples_of_vectors(problem);
}

ExactPlan plan_of_short_rows(const ReduceProblem &problem) {
    const Shape &shape = problem.shape;
    const std::size_t bytes = bytes_of_row(problem);
    const std::size_t lanes = std::max(std::bit_ceil(divide_up(bytes, bytes_of_a_lane)), least_lanes_of_a_row);
    ExactPlan plan{};
    plan.kernel = exact_short_rows_kernel(problem.what.dtype);
    plan.threads = exact_row_threads;
    plan.down = static_cast<int>(lanes);
    cut_axis(plan, shape, 1, shape.axis);
    return plan;
}

ExactPlan plan_of(const ReduceProblem &problem) {
    return is_of_short_rows(problem)  ? plan_of_short_rows(problem)
           : is_of_long_rows(problem) ? plan_of_long_rows(problem)
                                      : plan_of_any_layout(problem);
}

// Words of elements that change no sum.
std::uint32_t filler_of(const Reduction &what) {
    switch (what.dtype) {
    case ElementType::f32:
        return what.ignore_nan ? canonical_nan_f32 : 0x80000000u;
    case ElementType::f16:
        return what.ignore_nan ? canonical_nan_f16 * 0x10001u : 0x80008000u;
    case ElementType::bf16:
        return what.ignore_nan ? canonical_nan_bf16 * 0x10001u : 0x80008000u;
    case ElementType::f8_e4m3:
        return what.ignore_nan ? canonical_nan_e4m3 * 0x1010101u : 0x80808080u;
    default:
        return what.ignore_nan ? canonical_nan_e5m2 * 0x1010101u : 0x80808080u;
    }
}

std::size_t workspace_bytes(const ReduceProblem &problem, const ExactPlan &plan) {
    const auto words = static_cast<std::size_t>(exact_words(exact_layout(problem.what.dtype, has_products(problem))));
    return plan.splits == 1 ? 0
                            : problem.shape.outer * problem.shape.inner * plan.splits * words * sizeof(std::int64_t);
}

cudaError_t sum_blocks(const ReduceProblem &problem, const ExactPlan &plan, std::int64_t *partials, cudaStream_t stream,
                       GpuFacts gpu) {
    ExactArguments a{};
    a.input = problem.input;
    a.weights = problem.weights;
    a.output = problem.output;
    a.partials = partials;
    a.shape = problem.shape;
    a.outputs = problem.shape.outer * problem.shape.inner;
    a.splits = plan.splits;
    a.length = plan.length;
    a.down = plan.down;
    a.down_side_by_side = plan.down_side_by_side;
    a.ignore_nan = problem.what.ignore_nan;
    a.filler = filler_of(problem.what);
    a.type = problem.what.dtype;
    a.output_type = problem.what.output_dtype;
    Launch how{plan.kernel, 1, plan.threads};
    how.dependent = gpu.dependent_launch;
    cudaError_t error = cudaSuccess;
    for (; error == cudaSuccess && a.first_block < plan.blocks; a.first_block += most_blocks) {
        how.blocks = std::min(plan.blocks - a.first_block, most_blocks);
        error = launch(how, &a, stream);
    }
    return error;
}

cudaError_t merge(const ReduceProblem &problem, const ExactPlan &plan, const std::int64_t *partials, bool to_words,
                  cudaStream_t stream, GpuFacts gpu) {
    ExactMergeArguments a{};
    a.partials = partials;
    a.output = problem.output;
    a.outputs = problem.shape.outer * problem.shape.inner;
    a.splits = plan.splits;
    a.layout = exact_layout(problem.what.dtype, has_products(problem));
    a.output_type = problem.what.output_dtype;
    a.to_words = to_words;
    const std::size_t warps = divide_up(a.splits, static_cast<std::size_t>(exact_splits_of_warp));
    const auto threads = static_cast<int>(
        std::clamp<std::size_t>(warps * warp_threads, least_exact_merge_threads, most_exact_merge_threads));
    Launch how{exact_merge_kernel(), 1, threads};
    how.shared_bytes = static_cast<std::size_t>(threads / warp_lanes * exact_words(a.layout)) * sizeof(std::int64_t);
    how.dependent = gpu.dependent_launch;
    cudaError_t error = cudaSuccess;
    for (; error == cudaSuccess && a.first_output < a.outputs; a.first_output += most_blocks) {
        how.blocks = std::min(a.outputs - a.first_output, most_blocks);
        error = launch(how, &a, stream);
    }
    return error;
}

} // namespace

std::size_t exact_sum_workspace_bytes(const ReduceProblem &problem) {
    const bool empty = problem.shape.outer == 0 || problem.shape.inner == 0;
    return empty ? 0 : workspace_bytes(problem, plan_of(problem));
}

cudaError_t sum_to_exact_words(const ReduceProblem &problem, Workspace &workspace, cudaStream_t stream, GpuFacts gpu) {
    const ExactPlan plan = plan_of(problem);
    if (plan.splits == 1) {
        return sum_blocks(problem, plan, static_cast<std::int64_t *>(problem.output), stream, gpu);
    }
    auto *partials = static_cast<std::int64_t *>(workspace.take(workspace_bytes(problem, plan)));
    const cudaError_t error = sum_blocks(problem, plan, partials, stream, gpu);
    return error != cudaSuccess ? error : merge(problem, plan, partials, true, stream, gpu);
}

std::int32_t exact_sum(const ReduceProblem &problem, void *stream_handle) {
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    const ExactPlan plan = plan_of(problem);
    const std::size_t bytes = workspace_bytes(problem, plan);
    Workspace workspace(problem, bytes, stream);
    if (workspace.error() != cudaSuccess) {
        return report(workspace.error());
    }
    auto *partials = bytes == 0 ? nullptr : static_cast<std::int64_t *>(workspace.take(bytes));
    cudaError_t launched = sum_blocks(problem, plan, partials, stream, device.gpu());
    if (launched == cudaSuccess && partials != nullptr) {
        launched = merge(problem, plan, partials, false, stream, device.gpu());
    }
    const cudaError_t freed = workspace.finish();
    return report(launched != cudaSuccess ? launched : freed);
}

} // namespace wr::cuda
