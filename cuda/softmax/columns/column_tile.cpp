#include "cuda/softmax/columns/column_tile.h"

#include "cuda/common/tuning.h"
#include "cuda/common/vector_types.h"
#include "cuda/softmax/columns/column_tile_kernels.h"
#include "cuda/softmax/plan.h"

namespace wr::cuda {

namespace {

const ShortColumnSoftmaxKernels *find_kernels(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &short_column_softmax_kernels<T>(); });
}

// Whether columns' largest logits are wanted beside the sums: for more than plain softmax's outputs.
bool wants_logits(const SoftmaxProblem &p) { return p.log || wants_row_values(p) || !leaves_nothing_out(p.selection); }

const ShortColumnSoftmaxKernels::OfAKind &kernels_for(const ShortColumnSoftmaxKernels &kernels, const SoftmaxProblem &p,
                                                      bool whole) {
    return leaves_nothing_out(p.selection) ? kernels.of[wants_logits(p) ? 1 : 0][whole ? 1 : 0] : kernels.selected;
}

SelectedShortColumnArguments arguments_of(const SoftmaxProblem &problem, const ShortColumnPlan &plan,
                                          const ShortColumnSoftmaxKernels &kernels) {
    SelectedShortColumnArguments all{};
    all.softmax = arguments_of_problem(problem);
    all.tiles = plan.tiles;
    all.memory = {plan, kernels.each, kernels.left_bytes[wants_logits(problem) ? 1 : 0], sizeof(ShortColumnKept)};
    all.selection = problem.selection;
    all.logsumexp_type = problem.output == nullptr ? problem.logsumexp_dtype : ElementType::f32;
    return all;
}

ShortColumnThreads threads_of(const SoftmaxProblem &problem, const ShortColumnSoftmaxKernels::OfAKind &of,
                              int least_rows) {
    const bool more_registers = of[of_own_tiles].most_threads < short_column_most_threads;
    const bool narrow_tiles = traits_of(problem.dtype).size == 2 || wants_logits(problem);
    return {least_rows,
            2 * least_rows,
            tuning::softmax_short_column_threads,
            more_registers ? tuning::short_column_lone_threads_of_more_registers : tuning::short_column_lone_threads,
            static_cast<std::size_t>(of[of_most_rows].most_threads),
            narrow_tiles ? tuning::short_column_narrow_lanes : tuning::short_column_lanes};
}

ShortColumnSoftmaxRows rows_of(const ShortColumnPlan &plan, const ShortColumnSoftmaxKernels::OfAKind &of,
                               int least_rows) {
    if (plan.tiles.rows == least_rows) {
        return of_least_rows;
    }
    return plan.has_own_tiles() && plan.threads <= of[of_own_tiles].most_threads ? of_own_tiles : of_most_rows;
}

// Elements of a column at most; whole: of whole vectors of columns, which other kernels serve too.
std::size_t most_axis(const SoftmaxProblem &p, bool whole) {
    const bool narrow = traits_of(p.dtype).size == 2;
    if (!leaves_nothing_out(p.selection)) {
        return tuning::softmax_selected_short_column_axis;
    }
    if (p.output == nullptr) {
        return !whole   ? tuning::logsumexp_short_single_column_axis
               : narrow ? tuning::logsumexp_narrow_short_column_axis
                        : tuning::logsumexp_short_column_axis;
    }
    if (narrow) {
        return whole && !wants_logits(p) ? tuning::softmax_short_column_axis
                                         : tuning::softmax_narrow_short_column_values_axis;
    }
    if (wants_row_values(p)) {
        return whole ? tuning::softmax_short_column_values_axis : tuning::softmax_short_single_column_values_axis;
    }
    return whole && !p.log ? tuning::softmax_short_whole_column_axis : tuning::softmax_short_column_axis;
}

// The logsumexp alone in one of the types that kernels write.
bool are_outputs_served(const SoftmaxProblem &p) {
    return p.output == nullptr
               ? is_logsumexp_alone(p) && (p.logsumexp_dtype == ElementType::f32 || p.logsumexp_dtype == p.dtype)
               : p.output_dtype == p.dtype;
}

bool are_served(const SoftmaxProblem &p, bool whole) {
    const bool scaled_halves = traits_of(p.dtype).size == 2 && p.scale != 1.0;
    return are_outputs_served(p) && !scaled_halves && p.shape.inner_stride == 1 &&
           (whole || leaves_nothing_out(p.selection)) && is_short_column(p.shape, most_axis(p, whole), whole);
}

// Whether columns are whole vectors, and the mask's bytes whole words beside them.
bool takes_vectors(const SoftmaxProblem &p) {
    return takes_column_vectors(p) &&
           reinterpret_cast<std::uintptr_t>(p.selection.mask) % elements_of_vector(p.dtype) == 0;
}

} // namespace

cudaError_t launch_short_columns(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream,
                                 bool *served) {
    *served = false;
    if (problem.shape.inner == 1) { // few rows wait for the processor: nothing else is asked of them
        return cudaSuccess;
    }
    const ShortColumnSoftmaxKernels *kernels = find_kernels(problem.dtype);
    const bool whole = takes_vectors(problem);
    if (kernels == nullptr || !are_served(problem, whole)) {
        return cudaSuccess;
    }
    const ShortColumnSoftmaxKernels::OfAKind &of = kernels_for(*kernels, problem, whole);
    const ShortColumnThreads threads = threads_of(problem, of, kernels->least_rows);
    const ShortColumnPlan plan = plan_short_columns(problem.shape, traits_of(problem.dtype).size, threads, whole, gpu);
    if (plan.threads == 0) {
        return cudaSuccess;
    }
    SelectedShortColumnArguments a = arguments_of(problem, plan, *kernels);
    const void *const kernel = of[rows_of(plan, of, kernels->least_rows)].kernel;
    const Launch how = short_column_launch(kernel, plan, a.memory, gpu);
    const cudaError_t error = allow_shared_bytes(how, gpu, served);
    return error == cudaSuccess && *served ? launch(how, &a, stream) : error;
}

} // namespace wr::cuda
