#include "cuda/softmax_backward/column_tile.h"

#include "cuda/common/tuning.h"
#include "cuda/common/vector_types.h"
#include "cuda/softmax_backward/column_tile_kernels.h"
#include "cuda/softmax_backward/problem.h"

namespace wr::cuda {

namespace {

// Whether columns are whole vectors, and the mask's bytes whole words beside them.
bool takes_vectors(const SoftmaxBackwardProblem &p) {
    return are_column_vectors(p) &&
           reinterpret_cast<std::uintptr_t>(p.selection.mask) % elements_of_vector(p.dtype) == 0;
}

bool are_served(const SoftmaxBackwardProblem &p, bool whole) {
    return is_of_one_type(p) && (whole || leaves_nothing_out(p.selection)) && p.shape.inner_stride == 1 &&
           p.gradient_inner_stride == 1 && is_short_column(p.shape, tuning::softmax_backward_short_column_axis, whole);
}

const void *kernel_for(const BackwardShortColumnKernels &kernels, const SoftmaxBackwardProblem &p, bool whole) {
    const int from_logits = is_from_logits(p) ? 1 : 0;
    return leaves_nothing_out(p.selection) ? kernels.of[from_logits][whole ? 1 : 0] : kernels.selected[from_logits];
}

SelectedBackwardShortColumnArguments arguments_of(const SoftmaxBackwardProblem &p, const ShortColumnPlan &plan,
                                                  const ShortColumnMemory &memory) {
    const Shape &s = p.shape;
    return {{saved_array(p), static_cast<const float *>(p.logsumexp), p.output_gradient, p.input_gradient, s.axis,
             s.inner, s.outer_stride, s.axis_stride, p.gradient_outer_stride, p.gradient_axis_stride, plan.tiles,
             memory, static_cast<float>(p.scale), p.log, p.empty_row_zero},
            p.selection};
}

} // namespace

cudaError_t launch_backward_short_columns(const SoftmaxBackwardProblem &problem, const GpuFacts &gpu,
                                          cudaStream_t stream, bool *served) {
    *served = false;
    if (problem.shape.inner == 1) {
        return cudaSuccess;
    }
    const BackwardShortColumnKernels *kernels =
        of_vector_type(problem.dtype, []<class T>() { return &backward_short_column_kernels<T>(); });
    const bool whole = takes_vectors(problem);
    if (kernels == nullptr || !are_served(problem, whole)) {
        return cudaSuccess;
    }
    const std::size_t element_bytes = traits_of(problem.dtype).size;
    const ShortColumnThreads threads{backward_short_column_rows,
                                     backward_short_column_rows,
                                     tuning::softmax_backward_short_column_threads,
                                     tuning::short_column_lone_threads,
                                     short_column_most_threads,
                                     element_bytes == 2 ? tuning::short_column_narrow_lanes
                                                        : tuning::short_column_lanes};
    const ShortColumnPlan plan = plan_short_columns(problem.shape, element_bytes, threads, whole, gpu);
    if (plan.threads == 0) {
        return cudaSuccess;
    }
    const ShortColumnMemory memory(plan, kernels->each, sizeof(float), sizeof(BackwardShortColumnKept));
    SelectedBackwardShortColumnArguments a = arguments_of(problem, plan, memory);
    const Launch how = short_column_launch(kernel_for(*kernels, problem, whole), plan, memory, gpu);
    const cudaError_t error = allow_shared_bytes(how, gpu, served);
    return error == cudaSuccess && *served ? launch(how, &a, stream) : error;
}

} // namespace wr::cuda
