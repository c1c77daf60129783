#include "cuda/softmax_backward/two_pass_columns.h"

#include "cuda/common/vector_types.h"
#include "cuda/rowwise/strided_plan.h"
#include "cuda/softmax_backward/problem.h"

#include <algorithm>

namespace wr::cuda {

namespace {

const BackwardColumnKernels *find_column_kernels(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &backward_column_kernels<T>(); });
}

BackwardColumnArguments arguments_of(const SoftmaxBackwardArguments &of) {
    const SoftmaxBackwardProblem &p = of.problem;
    const Shape &s = p.shape;
    return {saved_array(p),
            is_from_logits(p) ? static_cast<const float *>(p.logsumexp) : nullptr,
            p.output_gradient,
            p.input_gradient,
            of.states,
            of.totals,
            s.axis,
            s.inner,
            of.splits,
            s.outer_stride,
            s.axis_stride,
            p.gradient_outer_stride,
            p.gradient_axis_stride,
            cut_into_two_pass_column_tiles(s, traits_of(p.dtype).size),
            static_cast<float>(p.scale),
            p.log,
            p.empty_row_zero};
}

} // namespace

bool serves_backward_columns(const SoftmaxBackwardProblem &p) {
    return find_column_kernels(p.dtype) != nullptr && p.shape.inner > 1 && p.shape.axis > softmax_whole_column_axis &&
           takes_all_as_it_is(p) && are_column_vectors(p) &&
           count_two_pass_column_tiles(p.shape, traits_of(p.dtype).size) != 0;
}

cudaError_t launch_backward_columns(const void *totals, SoftmaxBackwardArguments &a, bool dependent,
                                    cudaStream_t stream) {
    const Shape &s = a.problem.shape;
    const BackwardColumnKernels &kernels = *find_column_kernels(a.problem.dtype);
    BackwardColumnArguments columns = arguments_of(a);
    Launch how{kernels.sums, count_two_pass_column_tiles(s, traits_of(a.problem.dtype).size), two_pass_column_threads};
    how.dependent = dependent;
    cudaError_t error = launch(how, &columns, stream);
    if (error == cudaSuccess) {
        const auto rows_a_block =
            std::size_t{strided_block_warps} * static_cast<std::size_t>(rows_of_totals_warp(a.splits));
        const std::size_t blocks = std::min(divide_up(s.outer * s.inner, rows_a_block), most_blocks);
        error = launch({.kernel = totals, .blocks = blocks, .threads = strided_block_threads, .dependent = dependent},
                       &a, stream);
    }
    if (error == cudaSuccess) {
        how.kernel = kernels.gradients;
        error = launch(how, &columns, stream);
    }
    return error;
}

} // namespace wr::cuda
