#include "cuda/softmax_backward/launches.h"

#include "cuda/common/vectors.h"
#include "cuda/rowwise/column_plan.h"
#include "cuda/rowwise/policy.h"
#include "cuda/rowwise/row_plan.h"
#include "cuda/softmax_backward/policy.h"

#include <algorithm>

namespace wr::cuda {

namespace {

// Whether columns are whole vectors, and the mask's bytes whole words beside them.
bool takes_vectors(const SoftmaxBackwardProblem &p) {
    return are_column_vectors(p) && is_aligned(p.selection.mask, elements_of_vector(p.dtype));
}

bool are_served(const SoftmaxBackwardProblem &p, bool whole, const GpuFacts &gpu) {
    return is_of_one_type(p) && (whole || leaves_nothing_out(p.selection)) && p.shape.inner_stride == 1 &&
           p.gradient_inner_stride == 1 &&
           is_column_tile(p.shape, softmax_backward_policy(gpu).column_tile_axis, whole, gpu);
}

const void *kernel_for(const BackwardColumnTileKernels &kernels, const SoftmaxBackwardProblem &p, bool whole) {
    const int from_logits = is_from_logits(p) ? 1 : 0;
    return leaves_nothing_out(p.selection) ? kernels.of[from_logits][whole ? 1 : 0] : kernels.masked[from_logits];
}

MaskedBackwardColumnTileArguments arguments_of(const SoftmaxBackwardProblem &p, const ColumnTilePlan &plan,
                                               const ColumnTileMemory &memory) {
    const Shape &s = p.shape;
    return {{saved_array(p), static_cast<const float *>(p.logsumexp), p.output_gradient, p.input_gradient, s.axis,
             s.inner, s.outer_stride, s.axis_stride, p.gradient_outer_stride, p.gradient_axis_stride, plan.tiles,
             memory, static_cast<float>(p.scale), p.log, p.empty_row_zero},
            p.selection};
}

} // namespace

cudaError_t launch_backward_column_tiles(const SoftmaxBackwardProblem &problem, const GpuFacts &gpu,
                                         cudaStream_t stream, bool *supported) {
    *supported = false;
    if (problem.shape.inner == 1) {
        return cudaSuccess;
    }
    const BackwardColumnTileKernels *kernels =
        of_vector_type(problem.dtype, []<class T>() { return &backward_column_tile_kernels<T>(); });
    const bool whole = takes_vectors(problem);
    if (kernels == nullptr || !are_served(problem, whole, gpu)) {
        return cudaSuccess;
    }
    const std::size_t element_bytes = traits_of(problem.dtype).size;
    const RowwisePolicy &policy = rowwise_policy(gpu);
    const ColumnTileThreads threads{backward_column_tile_rows,
                                    backward_column_tile_rows,
                                    softmax_backward_policy(gpu).column_tile_threads,
                                    policy.column_tile_cta_threads,
                                    column_tile_most_threads,
                                    element_bytes == 2 ? policy.column_tile_narrow_lanes : policy.column_tile_lanes};
    const ColumnTilePlan plan = plan_column_tiles(problem.shape, element_bytes, threads, whole, gpu);
    if (plan.threads == 0) {
        return cudaSuccess;
    }
    const ColumnTileMemory memory(plan, kernels->each, sizeof(float), sizeof(BackwardColumnTileKept));
    MaskedBackwardColumnTileArguments a = arguments_of(problem, plan, memory);
    const Launch how = column_tile_launch(kernel_for(*kernels, problem, whole), plan, memory, gpu);
    const cudaError_t error = allow_shared_bytes(how, gpu, supported);
    return error == cudaSuccess && *supported ? launch(how, &a, stream) : error;
}

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
