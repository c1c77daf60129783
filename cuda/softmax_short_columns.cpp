#include "cuda/softmax_short_columns.h"

#include "cuda/softmax_plan.h"
#include "cuda/softmax_short_column_kernels.h"
#include "cuda/tuning.h"
#include "cuda/vector_types.h"

namespace wr::cuda {

namespace {

const ShortColumnSoftmaxKernels *find_kernels(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &short_column_softmax_kernels<T>(); });
}

ShortColumnSoftmaxArguments arguments_of(const SoftmaxProblem &problem, const ShortColumnPlan &plan,
                                         const ShortColumnSoftmaxKernels &kernels) {
    ShortColumnSoftmaxArguments all{};
    all.softmax = arguments_of_problem(problem);
    all.tiles = plan.tiles;
    all.memory = {plan, kernels.each, kernels.sum_bytes, sizeof(ShortColumnKept)};
    all.logsumexp_type = problem.output == nullptr ? problem.logsumexp_dtype : ElementType::f32;
    return all;
}

// Whether more is wanted than softmax's outputs.
bool wants_logits(const SoftmaxProblem &p) { return p.log || wants_row_values(p); }

std::size_t most_axis(const SoftmaxProblem &p) {
    const bool narrow = traits_of(p.dtype).size == 2;
    if (p.output == nullptr) {
        return narrow ? tuning::logsumexp_narrow_short_column_axis : tuning::logsumexp_short_column_axis;
    }
    return narrow                ? tuning::softmax_narrow_short_column_axis
           : wants_row_values(p) ? tuning::softmax_short_column_values_axis
                                 : tuning::softmax_short_column_axis;
}

// The logsumexp alone in one of the types that kernels write.
bool are_outputs_served(const SoftmaxProblem &p) {
    return p.output == nullptr
               ? is_logsumexp_alone(p) && (p.logsumexp_dtype == ElementType::f32 || p.logsumexp_dtype == p.dtype)
               : p.output_dtype == p.dtype;
}

bool are_served(const SoftmaxProblem &p, bool whole) {
    const bool scaled_halves = traits_of(p.dtype).size == 2 && p.scale != 1.0;
    return are_outputs_served(p) && !scaled_halves && leaves_nothing_out(p.selection) && p.shape.inner_stride == 1 &&
           is_short_column(p.shape, most_axis(p), whole);
}

} // namespace

cudaError_t launch_short_columns(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream,
                                 bool *served) {
    *served = false;
    if (problem.shape.inner == 1) { // few rows wait for the processor: nothing else is asked of them
        return cudaSuccess;
    }
    const ShortColumnSoftmaxKernels *kernels = find_kernels(problem.dtype);
    const bool whole = takes_column_vectors(problem);
    if (kernels == nullptr || !are_served(problem, whole)) {
        return cudaSuccess;
    }
    const ShortColumnThreads threads{kernels->least_rows, 2 * kernels->least_rows,
                                     tuning::softmax_short_column_threads};
    const ShortColumnPlan plan = plan_short_columns(problem.shape, traits_of(problem.dtype).size, threads, whole, gpu);
    if (plan.threads == 0) {
        return cudaSuccess;
    }
    ShortColumnSoftmaxArguments a = arguments_of(problem, plan, *kernels);
    const void *const kernel =
        kernels->of[wants_logits(problem) ? 1 : 0][whole ? 1 : 0][plan.tiles.rows == kernels->least_rows ? 0 : 1];
    const Launch how = short_column_launch(kernel, plan, a.memory, gpu);
    const cudaError_t error = allow_shared_bytes(how, gpu, served);
    return error == cudaSuccess && *served ? launch(how, &a, stream) : error;
}

} // namespace wr::cuda
