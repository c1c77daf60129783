#include "cuda/softmax/columns/column_tile.h"

#include "cuda/common/alignment.h"
#include "cuda/common/vector_types.h"
#include "cuda/rowwise/column_tile_plan.h"
#include "cuda/rowwise/policy.h"
#include "cuda/softmax/plan.h"
#include "cuda/softmax/policy.h"

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

} // namespace wr::cuda
