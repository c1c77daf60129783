#include "cuda/softmax/two_pass/columns.h"

#include "cuda/common/vector_types.h"
#include "cuda/rowwise/strided_plan.h"
#include "cuda/softmax/plan.h"
#include "numerics/softmax.h"

#include <algorithm>

namespace wr::cuda {

namespace {

const SoftmaxTwoPassColumnKernels *find_two_pass_column_kernels(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &softmax_two_pass_column_kernels<T>(); });
}

// How a tile each is put on the stream, by a kernel that is to be set.
Launch one_block_a_tile(const SoftmaxProblem &problem, bool dependent) {
    Launch how{nullptr, two_pass_column_tiles(problem), two_pass_column_threads};
    how.dependent = dependent;
    return how;
}

SoftmaxTwoPassColumnArguments arguments_of(const SoftmaxProblem &problem, const SoftmaxArguments &a) {
    return {a, cut_into_two_pass_column_tiles(problem.shape, traits_of(problem.dtype).size),
            static_cast<std::uint32_t>(two_pass_column_tiles(problem))};
}

} // namespace

std::size_t two_pass_column_tiles(const SoftmaxProblem &problem) {
    const bool supported = find_two_pass_column_kernels(problem.dtype) != nullptr && problem.shape.inner > 1 &&
                           takes_column_vectors(problem);
    return supported ? count_two_pass_column_tiles(problem.shape, traits_of(problem.dtype).size) : 0;
}

bool serves_two_pass_column_states(const SoftmaxProblem &problem) {
    return is_logsumexp_alone(problem) && problem.shape.axis > softmax_whole_column_axis &&
           two_pass_column_tiles(problem) != 0;
}

cudaError_t launch_two_pass_column_states(const SoftmaxProblem &problem, StoredState *states, bool dependent,
                                          cudaStream_t stream) {
    SoftmaxArguments a = arguments_of_problem(problem);
    want_row_values(a, nullptr, nullptr); // which the totals give
    a.states = states;
    a.splits = divide_up(problem.shape.axis, softmax_block);
    SoftmaxTwoPassColumnArguments all = arguments_of(problem, a);
    Launch how = one_block_a_tile(problem, dependent);
    how.kernel = find_two_pass_column_kernels(problem.dtype)->states;
    return launch(how, &all, stream);
}

cudaError_t launch_two_pass_columns(const SoftmaxProblem &problem, const SoftmaxArguments &a, std::size_t most,
                                    const Launch &totals, bool dependent, cudaStream_t stream) {
    const SoftmaxTwoPassColumnKernels &kernels = *find_two_pass_column_kernels(problem.dtype);
    SoftmaxTwoPassColumnArguments all = arguments_of(problem, a);
    Launch how = one_block_a_tile(problem, dependent);
    how.blocks = std::min(how.blocks, most);
    how.kernel = kernels.states;
    cudaError_t error = launch(how, &all, stream);
    if (error == cudaSuccess) {
        error = launch(totals, &all.softmax, stream);
    }
    if (error == cudaSuccess) {
        how.kernel = kernels.outputs;
        error = launch(how, &all, stream);
    }
    return error;
}

} // namespace wr::cuda
