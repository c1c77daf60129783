// Puts the gradient of softmax on a stream.
#include "cuda/common/gpu_facts.h"
#include "cuda/common/launch.h"
#include "cuda/common/vectors.h"
#include "cuda/gpu.h"
#include "cuda/rowwise/policy.h"
#include "cuda/rowwise/row_plan.h"
#include "cuda/softmax/launches.h"
#include "cuda/softmax/rows.h"
#include "cuda/softmax_backward/launches.h"
#include "cuda/softmax_backward/policy.h"
#include "cuda/softmax_backward/rows.h"
#include "numerics/saved_logarithms.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

const BackwardVectorKernels *vector_kernels_of(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &backward_vector_kernels<T>(); });
}

// Whether rows are neighbouring elements, from what was saved to gradients; and whether they are whole vectors.
bool are_rows_of_neighbours(const SoftmaxBackwardProblem &p, const BackwardVectorKernels *kernels) {
    return kernels != nullptr && is_of_one_type(p) && p.shape.inner == 1 && p.shape.axis_stride == 1 &&
           p.gradient_axis_stride == 1;
}
bool are_vectors(const SoftmaxBackwardProblem &p, const BackwardVectorKernels &kernels) {
    const Shape &s = p.shape;
    const std::size_t elements = bytes_of_vector / kernels.element_bytes;
    return s.axis % elements == 0 && steps_by_vectors(s.outer, s.outer_stride, elements) &&
           steps_by_vectors(s.outer, p.gradient_outer_stride, elements) && are_aligned(p);
}

// Whether rows lie one behind the other in all arrays.
bool touch(const SoftmaxBackwardProblem &p) {
    const auto axis = static_cast<std::ptrdiff_t>(p.shape.axis);
    return p.shape.outer == 1 || (p.shape.outer_stride == axis && p.gradient_outer_stride == axis);
}

// Whether each row is as far off the boundaries of vectors in all arrays.
bool lie_alike(const SoftmaxBackwardProblem &p) {
    const Shape &s = p.shape;
    const std::size_t elements = elements_of_vector(p.dtype);
    const auto axis = static_cast<std::ptrdiff_t>(s.axis);
    const auto offset = [](const void *at) { return reinterpret_cast<std::uintptr_t>(at) % bytes_of_vector; };
    return offset(p.output_gradient) == offset(saved_array(p)) && offset(p.input_gradient) == offset(saved_array(p)) &&
           steps_by_vectors(s.outer, s.outer_stride - axis, elements) &&
           steps_by_vectors(s.outer, p.gradient_outer_stride - axis, elements);
}

// A kernel for rows of neighbouring elements, and what a warp takes of the shared memory that its blocks get by their
// launch.
struct GradientKernel {
    const void *kernel;
    std::size_t warp_bytes;

    Launch launch_of(const RowTilesPlan &plan, std::size_t rows) const {
        Launch how = row_tiles_launch(kernel, plan, rows);
        how.shared_bytes = plan.warps * plan.rows_a_block * warp_bytes;
        return how;
    }
};

// The weights of logits, or terms off the boundaries.
std::size_t warp_bytes(const BackwardVectorKernels &kernels, bool from_logits, bool vectors) {
    if (kernels.element_bytes == 2) {
        return from_logits ? backward_buffer_bytes : 0;
    }
    return vectors ? 0 : backward_warp_terms * sizeof(float);
}

RowTilesPlan plan_gradient(const StridedPlan &rows, std::size_t most_warps, const GpuFacts &gpu) {
    return plan_row_tiles(
        rows.rows, rows.blocks,
        {most_warps, rowwise_policy(gpu).cta_warps, softmax_preferred_cluster_warps, softmax_preferred_cluster_warps},
        gpu);
}

// For many rows anywhere: the clusters that leave no warp, or few, without a tile, even those of more blocks than
// every GPU promises. No warps: they stay with the plan `plain`.
RowTilesPlan plan_fullest(const StridedPlan &rows, const RowTilesPlan &plain, const GpuFacts &gpu) {
    const bool by_blocks = plain.warps != 0 && plain.cluster_blocks == 1,
               few = plain.warps != 0 && !plain.load_balanced;
    if (gpu.cluster_blocks == 0 || by_blocks || few || rows.blocks <= rowwise_policy(gpu).cta_warps) {
        return {};
    }
    const ClusterSize cluster =
        fullest_cluster(rows.blocks, rowwise_policy(gpu).least_cluster_warps, softmax_preferred_cluster_warps,
                        static_cast<std::size_t>(gpu.wide_cluster_blocks));
    const bool one_launch = cluster.blocks != 0 && rows.rows <= most_blocks / cluster.blocks;
    return one_launch ? RowTilesPlan{cluster.blocks, cluster.warps, 1, gpu.dependent_launch, true} : RowTilesPlan{};
}

// Where this GPU holds the fullest clusters these; asked of wide ones alone.
cudaError_t plan_rows(const GradientKernel &kernel, const StridedPlan &rows, const GpuFacts &gpu, RowTilesPlan *plan) {
    *plan = plan_gradient(rows, backward_row_warps, gpu);
    const RowTilesPlan fullest = plan_fullest(rows, *plan, gpu);
    if (fullest.warps == 0) {
        return cudaSuccess;
    }
    int resident = 1;
    cudaError_t error = cudaSuccess;
    if (fullest.cluster_blocks > static_cast<std::size_t>(gpu.cluster_blocks)) {
        error = prepare_clusters(kernel.launch_of(fullest, rows.rows), gpu, &resident);
    }
    if (error == cudaSuccess && resident > 0) {
        *plan = fullest;
    }
    return error;
}

BackwardVectorArguments arguments_of(const SoftmaxBackwardProblem &problem) {
    const Shape &s = problem.shape;
    return {.saved = saved_array(problem),
            .logsumexp = static_cast<const float *>(problem.logsumexp),
            .output_gradient = problem.output_gradient,
            .input_gradient = problem.input_gradient,
            .rows = s.outer,
            .axis = s.axis,
            .outer_stride = s.outer_stride,
            .gradient_outer_stride = problem.gradient_outer_stride,
            .cluster_blocks = 1,
            .row_lanes = 0,
            .resident_clusters = 0,
            .scale = static_cast<float>(problem.scale),
            .log = problem.log,
            .empty_row_zero = problem.empty_row_zero,
            .saved_range = {},
            .gradient_range = {}};
}

// The same of rows off the boundaries.
BackwardVectorArguments unaligned_arguments_of(const SoftmaxBackwardProblem &problem) {
    BackwardVectorArguments a = arguments_of(problem);
    const std::size_t element_bytes = traits_of(problem.dtype).size;
    Shape shape = problem.shape;
    a.saved_range = readable_range_of(a.saved, shape, element_bytes);
    shape.outer_stride = a.gradient_outer_stride;
    a.gradient_range = readable_range_of(a.output_gradient, shape, element_bytes);
    return a;
}

// Whether a multiprocessor has no more elements.
bool are_few(const Shape &s, std::size_t most, const GpuFacts &gpu) { return s.outer * s.axis <= gpu.on_all(most); }
std::size_t few_elements(const BackwardVectorKernels &kernels, const GpuFacts &gpu) {
    const SoftmaxBackwardPolicy &policy = softmax_backward_policy(gpu);
    return kernels.element_bytes == 2 ? policy.few_narrow_elements : policy.few_elements;
}

// Several rows a warp, by whole vectors or element by element.
cudaError_t launch_sub_warp(const BackwardVectorKernels &kernels, const SoftmaxBackwardProblem &problem, bool vectors,
                            const GpuFacts &gpu, cudaStream_t stream) {
    const Shape &s = problem.shape;
    const bool quarters = s.axis <= backward_quarter_tile && are_few(s, few_elements(kernels, gpu), gpu);
    const SubWarpKernels &of = !vectors   ? kernels.sub_warp_elements
                               : quarters ? kernels.sub_warp_quarter_tiles
                                          : kernels.sub_warp_half_tiles;
    const RowPacking packing(s.axis, vectors ? elements_of_vector(problem.dtype) : 1, of.warp_elements);
    BackwardVectorArguments a = arguments_of(problem);
    a.row_lanes = static_cast<std::int32_t>(packing.places);
    return launch(short_rows_launch(of.of[is_from_logits(problem) ? 1 : 0], a.rows, packing.warp_rows, gpu), &a,
                  stream);
}

// Elements of a block that has several rows: twice as many where they leave at least a twentieth fewer out.
std::size_t flat_block_elements(std::size_t axis, std::size_t vector_elements, const GpuFacts &gpu) {
    const std::size_t once = softmax_backward_policy(gpu).flat_block_elements;
    const auto filled = [&](std::size_t elements) { return (elements - (vector_elements - 1)) / axis * axis; };
    return filled(2 * once) > 2 * filled(once) + once / 10 ? 2 * once : once;
}

// Rows one behind the other: a block has several, as one run of elements.
cudaError_t launch_flat(const BackwardVectorKernels &kernels, const SoftmaxBackwardProblem &problem,
                        const GpuFacts &gpu, cudaStream_t stream) {
    const Shape &s = problem.shape;
    const std::size_t each = elements_of_vector(problem.dtype), all = flat_block_elements(s.axis, each, gpu);
    const bool few = kernels.element_bytes == sizeof(float) && all / 2 >= 2 * s.axis &&
                     are_few(s, softmax_backward_policy(gpu).flat_few_elements, gpu);
    const std::size_t elements = few ? all / 2 : all;
    const std::size_t block_rows = (elements - (each - 1)) / s.axis, runs = divide_up(s.axis, backward_term_run);
    const std::size_t lane_runs = std::bit_ceil(std::min(runs, backward_term_runs));

    FlatBackwardArguments a{arguments_of(problem), static_cast<std::uint32_t>(block_rows),
                            static_cast<std::uint32_t>(divide_up(std::size_t{1} << 32, s.axis)),
                            static_cast<std::int32_t>(lane_runs)};
    a.row_lanes = static_cast<std::int32_t>(std::bit_ceil(divide_up(runs, lane_runs)));
    Launch how{(few ? kernels.flat_few : kernels.flat)[is_from_logits(problem) ? 1 : 0], divide_up(s.outer, block_rows),
               static_cast<int>(elements / (few ? backward_flat_few_elements : backward_flat_elements))};
    how.dependent = gpu.dependent_launch;
    how.shared_bytes = (block_rows + 1 + backward_term_places(elements)) * sizeof(float);
    return launch(how, &a, stream);
}

// Where the GPU has not the shared memory, nothing is launched and `supported` is false.
template <class Arguments>
cudaError_t launch_gradient(const GradientKernel &kernel, const RowTilesPlan &plan, Arguments &a, const GpuFacts &gpu,
                            cudaStream_t stream, bool *supported) {
    a.cluster_blocks = static_cast<std::int32_t>(plan.cluster_blocks);
    const Launch how = kernel.launch_of(plan, a.rows);
    const cudaError_t error = allow_shared_bytes(how, gpu, supported);
    return error == cudaSuccess && *supported ? launch(how, &a, stream) : error;
}

// One of the clusters that stay, for rows of so many tiles; no blocks where rows are too long or too short. Their
// number is a power of two: such clusters fill a GPU best.
Launch one_resident_cluster(const BackwardVectorKernels &kernels, bool from_logits, std::size_t row_tiles,
                            const GpuFacts &gpu) {
    const std::size_t blocks =
        std::bit_ceil(divide_up(row_tiles, backward_persistent_block_warps(kernels.element_bytes)));
    if (row_tiles <= softmax_backward_policy(gpu).persistent_tiles || row_tiles > backward_most_row_sums ||
        blocks > softmax_wide_cluster_blocks) {
        return {};
    }
    const std::size_t warps = divide_up(row_tiles, blocks);
    Launch how{kernels.persistent[from_logits ? 1 : 0], blocks, static_cast<int>(warps * warp_threads)};
    how.cluster_blocks = static_cast<int>(blocks);
    how.shared_bytes = backward_persistent_sum_bytes + warps * 2 * softmax_block * kernels.element_bytes;
    return how;
}

// Where the GPU holds no such clusters, nothing is launched and `supported` is false.
cudaError_t launch_resident(const BackwardVectorKernels &kernels, const SoftmaxBackwardProblem &problem,
                            std::size_t row_tiles, const GpuFacts &gpu, cudaStream_t stream, bool *supported) {
    *supported = false;
    Launch how = one_resident_cluster(kernels, is_from_logits(problem), row_tiles, gpu);
    BackwardVectorArguments a = arguments_of(problem);
    if (gpu.cluster_blocks == 0 || how.blocks == 0 || a.rows > most_blocks / how.blocks) {
        return cudaSuccess;
    }
    int resident = 0;
    const cudaError_t error = prepare_clusters(how, gpu, &resident);
    if (error != cudaSuccess || resident == 0) {
        return error;
    }
    *supported = true;
    a.cluster_blocks = how.cluster_blocks;
    a.resident_clusters = static_cast<std::uint32_t>(resident);
    how.dependent = gpu.dependent_launch;
    how.blocks *= pipeline_clusters(static_cast<std::uint32_t>(a.rows), a.resident_clusters);
    return launch(how, &a, stream);
}

// Log-softmax's outputs taken for logits, whose scale is not the gradients': kernels of any rows alone know two.
bool have_two_scales(const SoftmaxBackwardProblem &p) { return p.output != nullptr && p.logsumexp != nullptr; }

// A call on its way to the stream.
struct BackwardCall {
    const SoftmaxBackwardProblem &problem;
    const StridedPlan &plan;
    const GpuFacts &gpu;
    cudaStream_t stream;
    const BackwardVectorKernels *kernels; // of rows of neighbouring elements; nullptr: they are not such
    bool vectors;                         // whole ones, on their boundaries
    bool masked;                          // such, of which not all elements take part, whose kernels these are not
    bool scaled;                          // such that have scales of their own
    LargeRows longer;                     // of ragged rows many of which share warps, the others
};

bool is_any(const BackwardCall &) { return true; }
bool have_two_scales(const BackwardCall &call) { return have_two_scales(call.problem); }
bool have_one_scale(const BackwardCall &call) { return call.problem.scales == nullptr; }
bool have_neighbours(const BackwardCall &call) { return call.kernels != nullptr; }
bool are_vectors(const BackwardCall &call) { return call.vectors; }
bool are_masked_vectors(const BackwardCall &call) {
    return call.masked && call.problem.shape.axis >= softmax_backward_policy(call.gpu).masked_axis;
}
bool are_scaled_vectors(const BackwardCall &call) {
    return call.scaled && call.problem.shape.axis >= softmax_backward_policy(call.gpu).masked_axis;
}
bool share_a_warp(const BackwardCall &call) {
    const SoftmaxBackwardPolicy &policy = softmax_backward_policy(call.gpu);
    return have_neighbours(call) && touch(call.problem) && call.problem.shape.axis <= policy.sub_warp_axis &&
           (call.vectors || call.problem.shape.axis <= policy.sub_warp_element_axis);
}
bool are_flat(const BackwardCall &call) {
    const SoftmaxBackwardPolicy &policy = softmax_backward_policy(call.gpu);
    const Shape &s = call.problem.shape;
    const std::size_t fewer = s.axis <= policy.sub_warp_element_axis ? policy.flat_sub_warp_elements
                              : s.axis <= policy.element_axis        ? policy.flat_elements
                                                                     : policy.flat_longer_elements;
    return have_neighbours(call) && !call.vectors && s.axis > 1 && s.axis <= policy.flat_axis &&
           s.outer <= most_blocks && !are_few(s, fewer, call.gpu) && touch(call.problem) && lie_alike(call.problem);
}
bool are_short_elements(const BackwardCall &call) {
    return have_neighbours(call) && !call.vectors &&
           call.problem.shape.axis <= softmax_backward_policy(call.gpu).element_axis &&
           call.problem.shape.outer <= most_blocks;
}
bool are_few_vectors(const BackwardCall &call) {
    const Shape &s = call.problem.shape;
    return call.vectors && s.axis <= backward_row_warps * backward_quarter_tile &&
           are_few(s, few_elements(*call.kernels, call.gpu), call.gpu);
}
bool are_longer_few_vectors(const BackwardCall &call) {
    const Shape &s = call.problem.shape;
    return call.vectors && s.axis <= backward_row_warps * backward_half_tile &&
           are_few(s, softmax_backward_policy(call.gpu).few_elements, call.gpu);
}
bool are_many_short_ragged(const BackwardCall &call) { return call.longer.least != 0; }

// Whether they are short rows, or few columns side by side, of any types.
bool are_short_of_any_types(const BackwardCall &call) {
    return !have_neighbours(call) && serves_striped_backward(call.problem, any_slots, call.gpu);
}

cudaError_t put_column_tiles(BackwardCall &call, bool *supported) {
    return launch_backward_column_tiles(call.problem, call.gpu, call.stream, supported);
}

cudaError_t put_striped(BackwardCall &call, bool *) {
    return launch_striped_backward(call.problem, {}, call.gpu, call.stream);
}

cudaError_t put_sub_warp(BackwardCall &call, bool *) {
    return launch_sub_warp(*call.kernels, call.problem, call.vectors, call.gpu, call.stream);
}

cudaError_t put_flat(BackwardCall &call, bool *) {
    return launch_flat(*call.kernels, call.problem, call.gpu, call.stream);
}

cudaError_t put_resident(BackwardCall &call, bool *supported) {
    return launch_resident(*call.kernels, call.problem, call.plan.blocks, call.gpu, call.stream, supported);
}

// Rows of a block each, or several where that would have few warps.
RowTilesPlan plan_blocks(std::size_t warps, const GpuFacts &gpu) {
    constexpr std::size_t least_block_warps = 4;
    return {1, warps, warps < least_block_warps ? least_block_warps / warps : 1, gpu.dependent_launch, false};
}

// A row a block, so many elements a warp.
template <auto Kernels, std::size_t Elements>
cudaError_t put_blocks(BackwardCall &call, bool *supported) {
    BackwardVectorArguments a = arguments_of(call.problem);
    const RowTilesPlan plan = plan_blocks(divide_up(a.axis, Elements), call.gpu);
    return launch_gradient({(call.kernels->*Kernels)[is_from_logits(call.problem) ? 1 : 0], 0}, plan, a, call.gpu,
                           call.stream, supported);
}
constexpr auto put_elements = put_blocks<&BackwardVectorKernels::elements, backward_element_tile>;
constexpr auto put_quarter_tiles = put_blocks<&BackwardVectorKernels::quarter_tiles, backward_quarter_tile>;
constexpr auto put_half_tiles = put_blocks<&BackwardVectorKernels::half_tiles, backward_half_tile>;

// Half a tile a warp, of rows of which elements are left out.
cudaError_t put_masked_rows(BackwardCall &call, bool *supported) {
    const SoftmaxBackwardProblem &p = call.problem;
    const std::size_t tiles = divide_up(p.shape.axis, backward_half_tile);
    const auto most_cluster = static_cast<std::size_t>(call.gpu.cluster_blocks);
    const std::size_t most_of_one = most_cluster == 0 ? backward_half_tile_warps : backward_row_warps;
    ClusterSize size{1, tiles};
    if (tiles > most_of_one && most_cluster != 0) {
        size = smallest_cluster(tiles, backward_row_warps, most_cluster);
    }
    *supported = size.warps <= backward_half_tile_warps && p.shape.outer <= most_blocks / size.blocks;
    if (!*supported) {
        return cudaSuccess;
    }
    const BackwardVectorKernels &kernels = *vector_kernels_of(p.dtype);
    RowTilesPlan plan = plan_blocks(size.warps, call.gpu);
    plan.cluster_blocks = size.blocks;
    plan.load_balanced = true;
    MaskedBackwardVectorArguments a{arguments_of(p), p.selection};
    a.cluster_blocks = static_cast<std::int32_t>(plan.cluster_blocks);
    return launch_row_tiles(kernels.masked[is_from_logits(p) ? 1 : 0], plan, a.rows, &a, call.stream);
}

// In a block's or a cluster's registers.
template <class Arguments>
cudaError_t put_tiles(const void *const (&of)[2], bool vectors, Arguments &a, const BackwardCall &call,
                      bool *supported) {
    const BackwardVectorKernels &kernels = *vector_kernels_of(call.problem.dtype);
    const bool from_logits = is_from_logits(call.problem);
    const GradientKernel kernel{of[from_logits ? 1 : 0], warp_bytes(kernels, from_logits, vectors)};
    StridedPlan rows = call.plan;
    if (!vectors && kernels.element_bytes == sizeof(float)) { // tiles begin with the vector of the first element
        rows.blocks = divide_up(a.axis + elements_of_vector(call.problem.dtype) - 1, softmax_block);
    }
    RowTilesPlan plan{};
    const cudaError_t error = plan_rows(kernel, rows, call.gpu, &plan);
    *supported = error == cudaSuccess && plan.warps != 0;
    return *supported ? launch_gradient(kernel, plan, a, call.gpu, call.stream, supported) : error;
}

// The same of rows that have scales of their own.
cudaError_t put_scaled_rows(BackwardCall &call, bool *supported) {
    const SoftmaxBackwardProblem &p = call.problem;
    const auto *kernels = of_vector_type(p.dtype, []<class T>() { return &scaled_backward_kernels<T>(); });
    ScaledBackwardVectorArguments a{arguments_of(p), p.scales};
    return put_tiles(kernels->whole_tiles, true, a, call, supported);
}

cudaError_t put_rows(BackwardCall &call, bool *supported) {
    const BackwardVectorKernels &kernels = *call.kernels;
    *supported = call.vectors || kernels.element_bytes == 2 || lie_alike(call.problem);
    if (!*supported) {
        return cudaSuccess;
    }
    BackwardVectorArguments a = call.vectors ? arguments_of(call.problem) : unaligned_arguments_of(call.problem);
    return put_tiles(call.vectors ? kernels.whole_tiles : kernels.anywhere, call.vectors, a, call, supported);
}

const StridedKernels &strided_kernels_of(const BackwardCall &call) {
    return call.problem.dtype == ElementType::f64 ? softmax_backward_kernels_f64() : softmax_backward_kernels_f32();
}

SoftmaxBackwardArguments strided_arguments_of(const BackwardCall &call) {
    return {.problem = call.problem,
            .states = nullptr,
            .totals = nullptr,
            .splits = call.plan.splits,
            .tiles_a_warp = static_cast<std::int32_t>(call.plan.tiles_a_warp),
            .cluster_blocks = 1,
            .applies = false,
            .longer = call.longer};
}

cudaError_t put_ragged_rows(BackwardCall &call, bool *) {
    const cudaError_t error = launch_striped_backward(call.problem, call.longer, call.gpu, call.stream);
    SoftmaxBackwardArguments a = strided_arguments_of(call);
    return error == cudaSuccess ? launch_strided(strided_kernels_of(call), call.plan, true, a, call.stream) : error;
}

// A tile a warp, element by element.
cudaError_t put_whole_rows(BackwardCall &call, bool *supported) {
    const StridedKernels &kernels = strided_kernels_of(call);
    const SoftmaxBackwardProblem &p = call.problem;
    const RowTilesPlan whole = plan_whole_rows(kernels, p.shape, p.selection.ragged, call.gpu);
    *supported = whole.warps != 0;
    SoftmaxBackwardArguments a = strided_arguments_of(call);
    a.cluster_blocks = static_cast<std::int32_t>(whole.cluster_blocks);
    return *supported ? launch_row_tiles(kernels.whole_rows, whole, call.plan.rows, &a, call.stream) : cudaSuccess;
}

// With memory for the sums of rows that are read twice.
cudaError_t put_splits(BackwardCall &call, bool *) {
    const SoftmaxBackwardProblem &problem = call.problem;
    const StridedPlan &plan = call.plan;
    const StridedKernels &kernels = strided_kernels_of(call);
    SoftmaxBackwardArguments a = strided_arguments_of(call);
    const bool in_columns = have_one_scale(call) && !have_two_scales(call) && serves_backward_columns(problem),
               once = plan.has_whole_columns() && !in_columns;
    Workspace workspace(problem, once ? 0 : general_workspace_bytes(plan, sizeof(double)), call.stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    if (plan.splits != 0 && !once) {
        a.totals = static_cast<double *>(workspace.take(plan.rows * sizeof(double)));
        a.states = static_cast<double *>(workspace.take(plan.rows * plan.splits * sizeof(double)));
    }
    const cudaError_t launched =
        in_columns ? launch_backward_columns(kernels.totals, a, call.gpu.dependent_launch, call.stream)
                   : launch_strided(kernels, plan, true, a, call.stream);
    const cudaError_t freed = workspace.finish();
    return launched != cudaSuccess ? launched : freed;
}

constexpr Rule<BackwardCall> rules[] = {
    {have_two_scales, put_whole_rows},        // in registers, element by element
    {have_two_scales, put_splits},            // and what is read twice
    {have_one_scale, put_column_tiles},       // columns of up to 4096 elements of one type
    {are_masked_vectors, put_masked_rows},    // rows of more than 256 elements of which some are left out
    {are_scaled_vectors, put_scaled_rows},    // or which have scales of their own
    {are_short_of_any_types, put_striped},    // short rows, and up to 3 columns side by side
    {are_flat, put_flat},                     // many short rows off the boundaries
    {share_a_warp, put_sub_warp},             // other short rows
    {are_short_elements, put_elements},       // others of up to 512 elements
    {are_few_vectors, put_quarter_tiles},     // rows of up to 4 tiles, few of them
    {are_longer_few_vectors, put_half_tiles}, // rows of up to 8 tiles, few of them
    {are_vectors, put_resident},              // rows of more than 128 tiles
    {have_neighbours, put_rows},              // a row by a block or a cluster
    {are_many_short_ragged, put_ragged_rows}, // short ones share warps
    {is_any, put_whole_rows},                 // in registers, element by element
    {is_any, put_splits},                     // columns, and what is read twice
};

} // namespace

std::size_t softmax_backward_workspace_bytes(const SoftmaxBackwardProblem &problem) {
    return empty_rows_bytes(problem) +
           general_workspace_bytes(plan_general(problem.shape, problem.selection.ragged), sizeof(double));
}

namespace {

cudaError_t put_gradient(const SoftmaxBackwardProblem &problem, const StridedPlan &plan, const GpuFacts &gpu,
                         cudaStream_t stream) {
    const BackwardVectorKernels *kernels = vector_kernels_of(problem.dtype);
    const bool neighbours = are_rows_of_neighbours(problem, kernels) && !problem.selection.ragged;
    const bool vectors = neighbours && are_vectors(problem, *kernels), all = leaves_nothing_out(problem.selection);
    const bool scaled = problem.scales != nullptr, plain = all && !scaled;
    BackwardCall call{.problem = problem,
                      .plan = plan,
                      .gpu = gpu,
                      .stream = stream,
                      .kernels = neighbours && plain ? kernels : nullptr,
                      .vectors = vectors && plain,
                      .masked = vectors && !all && !scaled && has_small_limits(problem.shape, problem.selection) &&
                                is_aligned(problem.selection.mask, elements_of_vector(problem.dtype)),
                      .scaled = vectors && all && scaled,
                      .longer = have_two_scales(problem) ? LargeRows{} : rows_too_long_for_slots(problem, gpu)};
    return put_by(rules, call);
}

// From outputs of log-softmax, of which rows that are empty have to be known first.
cudaError_t put_gradient_of_logarithms(const SoftmaxBackwardProblem &problem, const StridedPlan &plan,
                                       const GpuFacts &gpu, cudaStream_t stream) {
    Workspace workspace(problem, empty_rows_bytes(problem), stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    void *logsumexp = workspace.take(empty_rows_bytes(problem));
    cudaError_t error = launch_empty_rows(problem, logsumexp, stream);
    if (error == cudaSuccess) {
        error = put_gradient(from_logarithms(problem, logsumexp), plan, gpu, stream);
    }
    const cudaError_t freed = workspace.finish();
    return error != cudaSuccess ? error : freed;
}

} // namespace

std::int32_t softmax_backward(const SoftmaxBackwardProblem &problem, void *stream_handle) {
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const StridedPlan plan = plan_general(problem.shape, problem.selection.ragged);
    if (plan.rows == 0 || problem.shape.axis == 0) {
        return static_cast<std::int32_t>(Status::success);
    }
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    return report(may_have_empty_rows(problem) ? put_gradient_of_logarithms(problem, plan, device.gpu(), stream)
                                               : put_gradient(problem, plan, device.gpu(), stream));
}

} // namespace wr::cuda
