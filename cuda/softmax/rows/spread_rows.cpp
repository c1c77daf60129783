#include "cuda/softmax/rows.h"

#include "cuda/common/gpu_facts.h"
#include "cuda/common/vectors.h"
#include "cuda/softmax/plan.h"
#include "cuda/softmax/policy.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

// How a row is spread: `accesses` of so many elements each a lane.
struct SpreadPlan {
    const void *const *kernels = nullptr; // [log]; nullptr: not at all
    std::size_t accesses, elements;
    bool by_block;
};

std::size_t lanes_of(std::size_t axis, std::size_t accesses, std::size_t elements) {
    return std::max(std::bit_ceil(divide_up(divide_up(axis, elements), accesses)), accesses);
}

// Of a block for each row.
std::size_t block_warps(std::size_t axis, std::size_t lane_elements) {
    return divide_up(axis, lane_elements * warp_threads);
}

// Where the elements of rows lie.
struct SpreadRowsPlaces {
    bool vectors, words; // whole ones on their boundaries

    explicit SpreadRowsPlaces(const SoftmaxProblem &p) {
        const std::size_t size = traits_of(p.dtype).size;
        vectors = are_whole(p, bytes_of_vector / size, bytes_of_vector);
        words = are_whole(p, sizeof(float) / size, sizeof(float));
    }

  private:
    static bool are_whole(const SoftmaxProblem &p, std::size_t elements, std::size_t bytes) {
        const Shape &s = p.shape;
        return is_aligned(p.input, bytes) && is_aligned(p.output, bytes) && s.axis % elements == 0 &&
               steps_by_vectors(s.outer, s.outer_stride, elements);
    }
};

bool has_few_outputs(const SoftmaxProblem &p) { return p.log || p.output == nullptr; }

// Short rows by some of a warp's lanes: few by a vector a lane, more of whole vectors by two or four, of other whole
// words by four of these.
SpreadPlan plan_lanes(const SoftmaxProblem &p, const SpreadRowsKernels &kernels, const SpreadRowsPlaces &places,
                      const GpuFacts &gpu) {
    const SoftmaxPolicy &policy = softmax_policy(gpu);
    const std::size_t axis = p.shape.axis, vector = elements_of_vector(p.dtype);
    const bool is_wide = p.dtype == ElementType::f32;
    const auto fits = [&](std::size_t accesses, std::size_t elements, std::size_t most_warps) {
        const std::size_t lanes = lanes_of(axis, accesses, elements);
        return lanes <= warp_threads && divide_up(p.shape.outer * lanes, warp_threads) <= gpu.on_all(most_warps);
    };
    const std::size_t few = axis <= policy.spread_lane_row_axis ? policy.spread_lane_row_warps
                            : has_few_outputs(p)                ? policy.spread_logarithm_warps
                                                                : policy.spread_warps;
    if (fits(1, vector, few)) {
        return {kernels.one_vector, 1, vector, false};
    }
    const std::size_t many = is_wide || has_few_outputs(p) ? policy.spread_many_warps : policy.spread_narrow_many_warps;
    const bool takes_two = axis >= policy.spread_lane_row_axis && (!is_wide || axis <= policy.spread_two_vectors_axis);
    if (places.vectors && takes_two && fits(2, vector, many)) {
        return {kernels.two_vectors, 2, vector, false};
    }
    if (places.vectors && is_wide && axis > policy.spread_two_vectors_axis && fits(4, vector, many)) {
        return {kernels.four_vectors, 4, vector, false};
    }
    const std::size_t words = sizeof(float) / traits_of(p.dtype).size;
    if (places.words && !places.vectors && !is_wide && axis > warp_threads &&
        fits(4, words, policy.spread_narrow_many_warps)) {
        return {kernels.four_words, 4, words, false};
    }
    return {};
}

// Whether few rows have a block each, of lanes with few elements.
bool are_few(const SoftmaxProblem &p, bool vectors, const GpuFacts &gpu) {
    const SoftmaxPolicy &policy = softmax_policy(gpu);
    const std::size_t axis = p.shape.axis;
    const std::size_t longest = p.output == nullptr ? policy.spread_logsumexp_axis
                                : p.log || vectors  ? policy.spread_logarithm_axis
                                                    : policy.spread_axis;
    const std::size_t most = has_few_outputs(p) ? policy.spread_logarithm_warps : policy.spread_warps;
    return axis <= longest && p.shape.outer * block_warps(axis, spread_few_elements) <= gpu.on_all(most);
}

// The same of lanes with more of them, and where the longest rows are too few to be worth one multiprocessor each.
bool are_longer(const SoftmaxProblem &p, bool vectors, const GpuFacts &gpu) {
    const SoftmaxPolicy &policy = softmax_policy(gpu);
    const Shape &s = p.shape;
    const bool spreads = s.axis <= policy.spread_block_axis || p.output == nullptr || gpu.on_all(1) <= s.outer * 4;
    const std::size_t most = p.output == nullptr           ? policy.spread_block_logsumexp_warps
                             : p.dtype == ElementType::f32 ? policy.spread_block_warps
                                                           : policy.spread_block_narrow_warps;
    return vectors && spreads && s.axis <= policy.spread_block_axis * 2 &&
           s.outer * block_warps(s.axis, spread_more_elements) <= gpu.on_all(most);
}

SpreadPlan plan_block(const SoftmaxProblem &p, const SpreadRowsKernels &kernels, bool vectors, const GpuFacts &gpu) {
    const std::size_t vector = elements_of_vector(p.dtype);
    if (are_few(p, vectors, gpu)) {
        return {kernels.block_of_few, spread_few_elements / vector, vector, true};
    }
    return are_longer(p, vectors, gpu) ? SpreadPlan{kernels.block_of_more, spread_more_elements / vector, vector, true}
                                       : SpreadPlan{};
}

bool serves(const SoftmaxProblem &p) {
    const Shape &s = p.shape;
    const bool writes_own_type = p.output == nullptr || p.output_dtype == p.dtype;
    return s.inner == 1 && s.axis_stride == 1 && s.axis != 0 && writes_own_type && leaves_nothing_out(p.selection) &&
           s.outer <= most_blocks;
}

} // namespace

cudaError_t launch_spread_rows(const SoftmaxProblem &p, const GpuFacts &gpu, cudaStream_t stream, bool *supported) {
    const SpreadRowsKernels *kernels = of_vector_type(p.dtype, []<class T>() { return &spread_rows_kernels<T>(); });
    *supported = kernels != nullptr && serves(p);
    if (!*supported) {
        return cudaSuccess;
    }
    const SpreadRowsPlaces places(p);
    SpreadPlan plan = plan_lanes(p, *kernels, places, gpu);
    plan = plan.kernels != nullptr ? plan : plan_block(p, *kernels, places.vectors, gpu);
    *supported = plan.kernels != nullptr;
    if (!*supported) {
        return cudaSuccess;
    }
    const Shape &s = p.shape;
    const std::size_t lanes = lanes_of(s.axis, plan.accesses, plan.elements);
    const std::size_t all = divide_up(s.outer * lanes, warp_threads);
    const std::size_t warps = plan.by_block ? block_warps(s.axis, plan.accesses * plan.elements)
                                            : std::clamp<std::size_t>(all, 1, spread_block_warps);
    SpreadRowsArguments a{};
    static_cast<SoftmaxArguments &>(a) = arguments_of_problem(p);
    a.on_boundaries = places.vectors;
    a.log_lanes = std::countr_zero(lanes);
    return launch({.kernel = plan.kernels[p.log ? 1 : 0],
                   .blocks = plan.by_block ? s.outer : divide_up(all, warps),
                   .threads = static_cast<int>(warps * warp_threads),
                   .dependent = gpu.dependent_launch},
                  &a, stream);
}

} // namespace wr::cuda
