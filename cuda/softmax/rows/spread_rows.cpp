#include "cuda/softmax/rows/spread_rows.h"

#include "cuda/common/alignment.h"
#include "cuda/common/vector_types.h"
#include "cuda/common/warp.h"
#include "cuda/softmax/plan.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

// Warps a multiprocessor up to which rows are spread: of rows that a lane would have otherwise, of log-softmax and of
// others (H200, from a graph, us, and otherwise: 1 x 8 f32 1.49 and 2.76, 16384 x 8 1.82 and 3.08, 60000 x 10 3.93 and
// 4.46, but 32768 x 16 3.25 and 3.39; 8 x 1000 log-softmax 2.20 and 3.46, 1024 x 128 2.05 and 3.08, but 16384 x 32 3.69
// and 3.36; softmax 64 x 1024 2.03 and 2.41, but 1024 x 512 3.36 and 2.92).
constexpr std::size_t spread_lane_row_warps = 64;
constexpr std::size_t spread_logarithm_warps = 16;
constexpr std::size_t spread_warps = 8;
constexpr std::size_t longest_lane_row = 16;

// Elements of the longest of these: longer ones are quicker by blocks and clusters with a warp for each tile (8 x 2048
// f32 2.33 and 2.38, bf16 2.17 and 2.01, 8 x 4096 2.88 and 2.29; log-softmax 8 x 2048 2.61 and 3.02; the logsumexp
// alone 8 x 4096 f32 3.48 and 3.51, bf16 3.38 and 3.80).
constexpr std::size_t longest_spread_row = 1024;
constexpr std::size_t longest_spread_logarithm_row = 2048;
constexpr std::size_t longest_spread_logsumexp_row = 4096;

const SpreadRowsKernels *kernels_of(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &spread_rows_kernels<T>(); });
}

// That hold a row, of up to a warp's a power of two.
std::size_t lanes_of(const SoftmaxProblem &p) {
    const std::size_t lanes = divide_up(p.shape.axis, elements_of_vector(p.dtype));
    return lanes <= warp_threads ? std::bit_ceil(lanes) : divide_up(lanes, warp_threads) * warp_threads;
}

std::size_t warps_of(const SoftmaxProblem &p) { return divide_up(p.shape.outer * lanes_of(p), warp_threads); }

bool is_short_enough(const SoftmaxProblem &p) {
    return p.shape.axis <= (p.output == nullptr ? longest_spread_logsumexp_row
                            : p.log             ? longest_spread_logarithm_row
                                                : longest_spread_row);
}

bool are_few_enough(const SoftmaxProblem &p, const GpuFacts &gpu) {
    const std::size_t most = p.shape.axis <= longest_lane_row ? spread_lane_row_warps
                             : p.log || p.output == nullptr   ? spread_logarithm_warps
                                                              : spread_warps;
    return p.shape.outer <= most_blocks && warps_of(p) <= static_cast<std::size_t>(gpu.multiprocessors) * most;
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
           leaves_nothing_out(p.selection) && is_short_enough(p) && are_few_enough(p, gpu);
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
