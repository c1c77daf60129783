#include "cuda/softmax/sub_warp/striped_rows.h"

#include "cuda/common/warp.h"
#include "cuda/softmax/rows/masked_rows.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace wr::cuda {

namespace {

// The same of columns: so many side by side at most (H200, 1 GiB, TB/s, and held by threads: masked f32 21 x 2, 100 x
// 2, 300 x 3 1.64, 1.83, 1.42 and 1.19, 1.09, 1.14, but 20 x 4, 100 x 4, 100 x 8, 500 x 16 1.56, 1.41, 0.88, 0.84
// and 1.90, 1.57, 1.69, 1.27; f32 into bf16 100 x 16 0.65 and 1.90; bf16 20 x 3, 64 x 13 0.89, 0.53 and 0.68, 1.14;
// gradients, masked, f32 20 x 4, 100 x 16 2.03, 1.00 and 2.37, 2.45; but bf16 21 x 5 1.22 and 1.00, logsumexp bf16 64 x
// 13 0.97 and 0.89).
constexpr std::size_t softmax_striped_columns = 3;

// The same: rows that a multiprocessor should have at least where other kernels keep to registers (gradients of 33, us:
// 16 rows of f32 5.24 and 4.54, of bf16 5.45 and 6.85; 32 5.49 and 8.18, 5.76 and 8.01). Of masked rows off the
// boundaries and of columns one is enough (5.5 and 6.6 us, 5.7 and 11.5).
constexpr std::size_t softmax_striped_rows_a_multiprocessor = 32;

// Rows of up to so many elements are a lane's each, as ragged ones are (us, striped and so: 60000 x 10 f32 7.36
// and 6.27, bf16 7.97 and 6.31, log 8.22 and 7.04, 8.92 and 7.10; but 2^20 x 21 113 and 120, 119 and 104, 16384 x
// 77 8.20, 10.4).
constexpr std::size_t softmax_blocked_gradient = 16;

// Softmax of ragged rows and its gradient: rows of up to so many elements share a warp where the mean length is a
// little more than half of what a row has room for (TB/s on an H200, and with a warp or a block for each, rows of 0 to
// 400, 550, 700: f32 1.28 and 1.06, 1.50 and 1.37, 1.12 and 1.66, bf16 0.67 and 0.66, 0.81 and 0.86, 0.59 and 1.04;
// gradients of 550 1.62 and 1.34, 0.80 and 0.61, of 1024 1.59 and 2.24, 0.79 and 1.12). Of the longer ones each
// multiprocessor gets so many blocks of threads.
constexpr std::size_t softmax_striped_ragged_row = 512;
constexpr std::size_t large_row_blocks = 8;

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
bool is_short(const Shape &s, const StripedLimits &limits) {
    return s.axis <= slots_of_warp && s.axis <= limits.elements && s.inner <= softmax_striped_columns;
}

// Whether the kernels can take them, and there are enough of them.
bool serves(const Shape &s, const Selection &selection, const StripedLimits &limits) {
    return !selection.ragged && s.axis > 0 && s.inner > 0 && is_short(s, limits) &&
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
    if (!selection.ragged || s.axis == 0 || longest > softmax_striped_ragged_row || rows < fewest_striped_rows(gpu) ||
        divide_up(rows, rows_of_block(longest)) > most_blocks) {
        return {};
    }
    const std::size_t blocks = static_cast<std::size_t>(gpu.multiprocessors) * large_row_blocks;
    return {longest + 1,
            static_cast<std::int32_t>(std::clamp<std::size_t>(rows / blocks, warp_threads, most_rows_looked_through))};
}

} // namespace

std::size_t fewest_striped_rows(const GpuFacts &gpu) {
    return static_cast<std::size_t>(gpu.multiprocessors) * softmax_striped_rows_a_multiprocessor;
}

bool serves_striped_softmax(const SoftmaxProblem &p, const StripedLimits &limits) {
    return has_small_types(p) && serves(p.shape, p.selection, limits);
}

LargeRows rows_too_long_for_slots(const SoftmaxProblem &p, const GpuFacts &gpu) {
    return has_small_types(p) ? beyond_slots(p.shape, p.selection, gpu) : LargeRows{};
}

LargeRows rows_too_long_for_slots(const SoftmaxBackwardProblem &p, const GpuFacts &gpu) {
    return has_small_types(p) ? beyond_slots(p.shape, p.selection, gpu) : LargeRows{};
}

bool serves_striped_backward(const SoftmaxBackwardProblem &p, const StripedLimits &limits) {
    const Shape gradients{p.shape.outer,           p.shape.axis,           p.shape.inner,
                          p.gradient_outer_stride, p.gradient_axis_stride, p.gradient_inner_stride};
    return has_small_types(p) && serves(p.shape, p.selection, limits) && is_contiguous(gradients);
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
    const bool has_runs = others.least != 0 || (p.shape.inner == 1 && p.shape.axis <= softmax_blocked_gradient);
    const void *kernel = has_runs ? blocked_backward_kernel() : striped_backward_kernel();
    return launch_slots(kernel, p.shape, others, StripedBackwardArguments{p, {}}, gpu, stream);
}

} // namespace wr::cuda
