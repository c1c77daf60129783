#include "cuda/softmax/rows/spread_rows.h"

#include "cuda/common/alignment.h"
#include "cuda/common/vector_types.h"
#include "cuda/common/warp.h"
#include "cuda/softmax/plan.h"
#include "cuda/softmax/policy.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

const SpreadRowsKernels *kernels_of(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &spread_rows_kernels<T>(); });
}

// That hold a row, of up to a warp's a power of two.
std::size_t lanes_of(const SoftmaxProblem &p) {
    const std::size_t lanes = divide_up(p.shape.axis, elements_of_vector(p.dtype));
    return lanes <= warp_threads ? std::bit_ceil(lanes) : divide_up(lanes, warp_threads) * warp_threads;
}

std::size_t warps_of(const SoftmaxProblem &p) { return divide_up(p.shape.outer * lanes_of(p), warp_threads); }

bool is_short_enough(const SoftmaxProblem &p, const SoftmaxPolicy &policy) {
    return p.shape.axis <= (p.output == nullptr ? policy.spread_logsumexp_axis
                            : p.log             ? policy.spread_logarithm_axis
                                                : policy.spread_axis);
}

bool are_few_enough(const SoftmaxProblem &p, const GpuFacts &gpu) {
    const SoftmaxPolicy &policy = softmax_policy(gpu);
    const std::size_t most = p.shape.axis <= policy.spread_lane_row_axis ? policy.spread_lane_row_warps
                             : p.log || p.output == nullptr              ? policy.spread_logarithm_warps
                                                                         : policy.spread_warps;
    return p.shape.outer <= most_blocks && warps_of(p) <= gpu.on_all(most);
}

bool lie_on_boundaries(const SoftmaxProblem &p) {
    const Shape &s = p.shape;
    const std::size_t elements = elements_of_vector(p.dtype);
    return is_aligned(p.input, bytes_of_vector) && is_aligned(p.output, bytes_of_vector) && s.axis % elements == 0 &&
           steps_by_vectors(s.outer, s.outer_stride, elements);
}

} // namespace

bool serves_spread_rows(const SoftmaxProblem &p, const GpuFacts &gpu) {
    const Shape &s = p.shape;
    const bool writes_own_type = p.output == nullptr || p.output_dtype == p.dtype;
    return kernels_of(p.dtype) != nullptr && s.inner == 1 && s.axis_stride == 1 && s.axis != 0 && writes_own_type &&
           leaves_nothing_out(p.selection) && is_short_enough(p, softmax_policy(gpu)) && are_few_enough(p, gpu);
}

cudaError_t launch_spread_rows(const SoftmaxProblem &p, const GpuFacts &gpu, cudaStream_t stream) {
    const SpreadRowsKernels &kernels = *kernels_of(p.dtype);
    const int log = p.log ? 1 : 0;
    const std::size_t lanes = lanes_of(p), all = warps_of(p);
    const bool by_block = lanes > warp_threads;
    const std::size_t warps = by_block ? lanes / warp_threads : std::clamp<std::size_t>(all, 1, spread_block_warps);
    SpreadRowsArguments a{};
    static_cast<SoftmaxArguments &>(a) = arguments_of_problem(p);
    a.on_boundaries = lie_on_boundaries(p);
    a.log_lanes = by_block ? 0 : std::countr_zero(lanes);
    return launch({.kernel = (by_block ? kernels.by_block : kernels.by_lanes)[log],
                   .blocks = divide_up(all, warps),
                   .threads = static_cast<int>(warps * warp_threads),
                   .dependent = gpu.dependent_launch},
                  &a, stream);
}

} // namespace wr::cuda
