#include "cuda/softmax/launches.h"

#include "cuda/common/gpu_facts.h"
#include "cuda/rowwise/policy.h"
#include "cuda/softmax/rows.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace wr::cuda {

namespace {

std::int32_t log_registers_of(std::size_t axis) {
    return std::countr_zero(std::max(std::bit_ceil(axis), warp_threads) / warp_threads);
}

StripedRows striped_rows(std::size_t axis) {
    StripedRows rows{log_registers_of(axis), 0};
    for (std::size_t first = 0; first < warp_threads; first += std::size_t{1} << rows.log_registers) {
        rows.begins |= std::uint32_t{1} << first;
    }
    return rows;
}

std::size_t rows_of_block(std::size_t axis) {
    return static_cast<std::size_t>(striped_block_warps) * (warp_threads >> log_registers_of(axis));
}

// Whether so many rows one behind the other, or so few columns side by side, are short enough.
bool is_short(const Shape &s, const StripedLimits &limits, const GpuFacts &gpu) {
    return s.axis <= slots_of_warp && s.axis <= limits.elements && s.inner <= rowwise_policy(gpu).striped_columns;
}

// Whether the kernels can take them, and there are enough of them.
bool serves(const Shape &s, const Selection &selection, const StripedLimits &limits, const GpuFacts &gpu) {
    return !selection.ragged && s.axis > 0 && s.inner > 0 && is_short(s, limits, gpu) &&
           s.outer * s.inner >= limits.fewest_rows && is_contiguous(s) &&
           s.outer <= std::numeric_limits<std::uint32_t>::max() / s.inner && has_small_limits(s, selection) &&
           divide_up(s.outer * s.inner, rows_of_block(s.axis)) <= most_blocks;
}

template <class Arguments>
cudaError_t launch_slots(const void *kernel, const Shape &s, const LargeRows &others, Arguments a, const GpuFacts &gpu,
                         cudaStream_t stream) {
    const std::size_t longest = others.least != 0 ? others.least - 1 : s.axis;
    a.rows = striped_rows(longest);
    Launch how{kernel, divide_up(s.outer * s.inner, rows_of_block(longest)), striped_block_warps * warp_lanes};
    how.dependent = gpu.dependent_launch;
    return launch(how, &a, stream);
}

bool has_small_types(const SoftmaxProblem &p) {
    return p.dtype != ElementType::f64 && (p.output == nullptr || p.output_dtype != ElementType::f64);
}

bool has_small_types(const SoftmaxBackwardProblem &p) {
    return p.dtype != ElementType::f64 && p.output_gradient_dtype != ElementType::f64 &&
           p.input_gradient_dtype != ElementType::f64;
}

// Of ragged rows the elements of all are known, and slots are given for a little less than twice the mean.
LargeRows beyond_slots(const Shape &s, const Selection &selection, const GpuFacts &gpu) {
    const std::size_t rows = s.outer, mean = divide_up(s.axis, std::max<std::size_t>(rows, 1));
    const std::size_t longest = std::max(std::bit_ceil(mean + mean / 4 * 3), warp_threads);
    if (!selection.ragged || s.axis == 0 || longest > rowwise_policy(gpu).ragged_axis ||
        rows < fewest_striped_rows(gpu) || divide_up(rows, rows_of_block(longest)) > most_blocks) {
        return {};
    }
    const std::size_t blocks = gpu.on_all(rowwise_policy(gpu).large_row_blocks);
    return {longest + 1,
            static_cast<std::int32_t>(std::clamp<std::size_t>(rows / blocks, warp_threads, most_rows_looked_through))};
}

} // namespace

std::size_t fewest_striped_rows(const GpuFacts &gpu) { return gpu.on_all(rowwise_policy(gpu).striped_rows); }

bool serves_striped_softmax(const SoftmaxProblem &p, const StripedLimits &limits, const GpuFacts &gpu) {
    return has_small_types(p) && serves(p.shape, p.selection, limits, gpu);
}

LargeRows rows_too_long_for_slots(const SoftmaxProblem &p, const GpuFacts &gpu) {
    return has_small_types(p) ? beyond_slots(p.shape, p.selection, gpu) : LargeRows{};
}

LargeRows rows_too_long_for_slots(const SoftmaxBackwardProblem &p, const GpuFacts &gpu) {
    return has_small_types(p) ? beyond_slots(p.shape, p.selection, gpu) : LargeRows{};
}

bool serves_striped_backward(const SoftmaxBackwardProblem &p, const StripedLimits &limits, const GpuFacts &gpu) {
    const Shape gradients{p.shape.outer,           p.shape.axis,           p.shape.inner,
                          p.gradient_outer_stride, p.gradient_axis_stride, p.gradient_inner_stride};
    return has_small_types(p) && serves(p.shape, p.selection, limits, gpu) && is_contiguous(gradients);
}

cudaError_t launch_striped_softmax(const SoftmaxProblem &p, const LargeRows &others, const GpuFacts &gpu,
                                   cudaStream_t stream) {
    const bool wide = p.dtype == ElementType::f32;
    const void *rows = wide ? blocked_softmax_kernel_f64() : blocked_softmax_kernel_f32();
    const void *columns = wide ? striped_softmax_kernel_f64() : striped_softmax_kernel_f32();
    return launch_slots(p.shape.inner == 1 ? rows : columns, p.shape, others, StripedSoftmaxArguments{p, {}}, gpu,
                        stream);
}

cudaError_t launch_striped_backward(const SoftmaxBackwardProblem &p, const LargeRows &others, const GpuFacts &gpu,
                                    cudaStream_t stream) {
    const bool has_runs =
        others.least != 0 || (p.shape.inner == 1 && p.shape.axis <= rowwise_policy(gpu).blocked_gradient_axis);
    const void *kernel = has_runs ? blocked_backward_kernel() : striped_backward_kernel();
    return launch_slots(kernel, p.shape, others, StripedBackwardArguments{p, {}}, gpu, stream);
}

} // namespace wr::cuda
