#include "cuda/common/gpu_facts.h"
#include "cuda/device/intrinsics.cuh"
#include "cuda/device/warp_tree.cuh"
#include "cuda/rowwise/arguments.h"
#include "cuda/softmax_backward/launches.h"
#include "numerics/element_types.h"
#include "numerics/float_formats.h"
#include "numerics/saved_logarithms.h"

#include <algorithm>

namespace wr::cuda {

namespace {

// Elements of a lane that are asked for at once: of most rows the first step says all.
constexpr int step_elements = 4;

__device__ bool nothing_was_left(const SoftmaxBackwardProblem &p, std::size_t row) {
    const RowPlaces of = places_of_row(p.selection, p.shape, row);
    bool nothing = true;
    for (std::size_t first = 0; nothing && first < of.taken; first += step_elements * warp_lanes) {
        bool something = false;
#pragma unroll
        for (int i = 0; i < step_elements; ++i) {
            const std::size_t at = first + static_cast<std::size_t>(i * warp_lanes + lane_index());
            something |= at < of.taken && shows_that_something_was_left(p, of, at);
        }
        nothing = __any_sync(whole_warp, something) == 0;
    }
    return nothing;
}

} // namespace

// A warp a row.
__global__ void __launch_bounds__(strided_block_threads) find_empty_rows(const __grid_constant__ EmptyRowsArguments a) {
    const SoftmaxBackwardProblem &p = a.problem;
    const std::size_t rows = p.shape.outer * p.shape.inner;
    const std::size_t step = std::size_t{gridDim.x} * strided_block_warps;
    std::size_t row = std::size_t{blockIdx.x} * strided_block_warps + static_cast<std::size_t>(warp_index());
    for (; row < rows; row += step) {
        const bool nothing = nothing_was_left(p, row);
        if (lane_index() == 0) {
            const double logsumexp = nothing ? -std::numeric_limits<double>::infinity() : 0.0;
            store_float(logsumexp, state_type(p.dtype), a.logsumexp, row);
        }
    }
}

const void *empty_rows_kernel() { return address_of(find_empty_rows); }

namespace {

// So that what is behind it in a workspace stays on every boundary.
constexpr std::size_t memory_step = 256;

} // namespace

std::size_t empty_rows_bytes(const SoftmaxBackwardProblem &p) {
    const bool from_logits = p.input != nullptr; // a query has neither
    if (!p.log || !p.empty_row_zero || from_logits) {
        return 0;
    }
    const std::size_t bytes = p.shape.outer * p.shape.inner * traits_of(state_type(p.dtype)).size;
    return divide_up(bytes, memory_step) * memory_step;
}

SoftmaxBackwardProblem from_logarithms(const SoftmaxBackwardProblem &problem, void *logsumexp) {
    const std::size_t bytes = empty_rows_bytes(problem);
    SoftmaxBackwardProblem p = problem;
    p.logsumexp = logsumexp;
    if (p.scale == 1 && p.scales == nullptr) {
        p.input = p.output;
        p.output = nullptr;
    }
    p.workspace_bytes -= std::min(bytes, p.workspace_bytes);
    p.workspace = p.workspace_bytes == 0 ? nullptr : static_cast<char *>(p.workspace) + bytes;
    return p;
}

cudaError_t launch_empty_rows(const SoftmaxBackwardProblem &problem, void *logsumexp, cudaStream_t stream) {
    EmptyRowsArguments a{problem, logsumexp};
    const std::size_t rows = problem.shape.outer * problem.shape.inner;
    return launch({.kernel = empty_rows_kernel(),
                   .blocks = std::min(divide_up(rows, std::size_t{strided_block_warps}), most_blocks),
                   .threads = strided_block_threads},
                  &a, stream);
}

} // namespace wr::cuda
