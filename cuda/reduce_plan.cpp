#include "cuda/reduce_plan.h"

#include "cuda/tuning.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

constexpr std::size_t block_warps = 8;
constexpr std::size_t block_threads = 256;
constexpr std::size_t vector_bytes = 16;
constexpr std::size_t warp_lanes = 32;
constexpr int most_tiles = 32; // a warp keeps one tile's result a lane

std::size_t clamped_multiprocessors(GpuFacts gpu) {
    return static_cast<std::size_t>(std::min(gpu.multiprocessors, tuning::most_multiprocessors));
}

int tiles_for(std::size_t rows, std::size_t row_tiles, GpuFacts gpu) {
    const std::size_t wanted = clamped_multiprocessors(gpu) * tuning::blocks_a_multiprocessor;
    std::size_t tiles = tuning::tiles_a_warp;
    while (tiles > 1 && rows * divide_up(row_tiles, block_warps * tiles) < wanted) {
        tiles /= 2;
    }
    // Enough rows to fill the GPU: a block may as well take a whole one.
    const std::size_t whole = std::bit_ceil(divide_up(row_tiles, block_warps));
    return static_cast<int>(rows >= wanted && whole <= most_tiles ? std::max(whole, std::size_t{1}) : tiles);
}

// A cluster's blocks have 8 warps; 16 where 8 would leave each warp several tiles one after the other. (With 32, a
// block starts so much later that 2^18 f32 took 4.5 us instead of 4.1 in a graph on an H200.)
std::size_t cluster_warps(std::size_t row_tiles, GpuFacts gpu) {
    const std::size_t needed = std::bit_ceil(divide_up(row_tiles, static_cast<std::size_t>(gpu.cluster_blocks)));
    return std::clamp<std::size_t>(needed, block_warps, 2 * block_warps);
}

std::size_t cluster_size(std::size_t row_tiles, GpuFacts gpu) {
    const std::size_t blocks = std::bit_ceil(divide_up(row_tiles, cluster_warps(row_tiles, gpu)));
    return std::min(blocks, static_cast<std::size_t>(gpu.cluster_blocks));
}

bool fits_cluster(std::size_t rows, std::size_t row_tiles, const ReduceKernels &kernels, GpuFacts gpu) {
    return kernels.cluster_rows != nullptr && gpu.cluster_blocks > 0 && row_tiles > block_warps &&
           row_tiles <= tuning::cluster_tiles && rows * cluster_size(row_tiles, gpu) <= clamped_multiprocessors(gpu);
}

bool rows_are_aligned(const Shape &s, std::uintptr_t address, int element_bytes) {
    const auto steps = static_cast<std::ptrdiff_t>(vector_bytes) / element_bytes;
    return address % vector_bytes == 0 && (s.outer <= 1 || s.outer_stride % steps == 0) &&
           (s.inner <= 1 || s.inner_stride % steps == 0);
}

bool rows_touch(const Shape &s) {
    return s.inner == 1 && s.axis_stride == 1 && s.outer_stride == static_cast<std::ptrdiff_t>(s.axis);
}

bool fits_packed(const Shape &s, std::uintptr_t address, std::size_t tile, const ReduceKernels &kernels) {
    return kernels.aligned_packed_rows != nullptr && rows_touch(s) && address % vector_bytes == 0 &&
           std::has_single_bit(s.axis) && s.axis < tile && s.outer > 1;
}

bool fits_padded(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels) {
    const auto elements = vector_bytes / static_cast<std::size_t>(kernels.element_bytes);
    return kernels.padded_rows != nullptr && rows_touch(s) && address % vector_bytes == 0 && s.axis > elements &&
           s.axis % elements == 0 && s.axis < static_cast<std::size_t>(bytes_a_tile) / kernels.element_bytes &&
           s.outer > 1;
}

RowPlan plan_rows(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels, GpuFacts gpu) {
    const std::size_t rows = s.outer * s.inner;
    RowPlan plan{RowRegime::rows, s.axis_stride == 1, false, 1, 1, 1, 1, false, 1};
    plan.aligned = rows_are_aligned(s, address, kernels.element_bytes);
    const std::size_t elements =
        plan.vectors ? static_cast<std::size_t>(bytes_a_tile / kernels.element_bytes) : scattered_tile;
    const std::size_t row_tiles = divide_up(s.axis, elements);
    if (fits_packed(s, address, elements, kernels)) {
        plan.regime = RowRegime::packed;
        plan.rows_a_block = elements / s.axis * block_warps;
        return plan;
    }
    if (fits_padded(s, address, kernels)) {
        const std::size_t slots =
            std::bit_ceil(s.axis * static_cast<std::size_t>(kernels.element_bytes) / vector_bytes);
        plan.regime = RowRegime::padded;
        plan.slots = static_cast<int>(slots);
        plan.rows_a_block = static_cast<std::size_t>(bytes_a_tile) / vector_bytes / slots * block_warps;
        return plan;
    }
    if (plan.vectors && fits_cluster(rows, row_tiles, kernels, gpu)) {
        plan.regime = RowRegime::cluster;
        plan.pieces = cluster_size(row_tiles, gpu);
        plan.warps = static_cast<int>(cluster_warps(row_tiles, gpu));
        plan.tiles =
            static_cast<int>(std::bit_ceil(divide_up(row_tiles, static_cast<std::size_t>(plan.warps) * plan.pieces)));
        return plan;
    }
    plan.warps = static_cast<int>(std::min(block_warps, std::bit_ceil(std::max(row_tiles, std::size_t{1}))));
    if (row_tiles > block_warps) {
        plan.tiles = tiles_for(rows, row_tiles, gpu);
        plan.pieces = divide_up(row_tiles, block_warps * static_cast<std::size_t>(plan.tiles));
    }
    plan.shared = kernels.atomic && row_tiles >= tuning::shared_row_tiles;
    plan.rows_a_block = block_warps / static_cast<std::size_t>(plan.warps);
    return plan;
}

bool columns_are_vectors(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels) {
    const auto bytes = static_cast<std::size_t>(kernels.column_vector_bytes);
    const std::size_t elements = bytes / static_cast<std::size_t>(kernels.element_bytes);
    const auto steps = static_cast<std::ptrdiff_t>(elements);
    return address % bytes == 0 && s.inner % elements == 0 && (s.axis <= 1 || s.axis_stride % steps == 0) &&
           (s.outer <= 1 || s.outer_stride % steps == 0);
}

ColumnPlan plan_columns(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels, GpuFacts gpu) {
    const bool vectors = columns_are_vectors(s, address, kernels);
    const std::size_t elements =
        vectors ? static_cast<std::size_t>(kernels.column_vector_bytes / kernels.element_bytes) : 1;
    const std::size_t across = divide_up(s.inner, elements);
    const auto layout = [&](const void *kernel, std::size_t run) {
        ColumnPlan plan{kernel, 1, 1, 1, 1, 1, 0};
        const std::size_t runs = std::bit_ceil(divide_up(std::max(s.axis, std::size_t{1}), run));
        const std::size_t narrowest =
            across <= tuning::few_column_vectors ? tuning::vectors_across_few : tuning::vectors_across_many;
        const std::size_t widest = std::max(block_threads / std::min(runs, block_threads), narrowest);
        const std::size_t threads_across = std::min(std::bit_ceil(across), widest);
        const std::size_t threads_down = std::min(runs, block_threads / threads_across);
        plan.threads_across = static_cast<int>(threads_across);
        plan.threads_down = static_cast<int>(threads_down);
        plan.groups = std::max<std::size_t>(divide_up(s.axis, run * threads_down), 1);
        plan.column_tiles = divide_up(across, threads_across);
        plan.outer_a_block = block_threads / threads_across / threads_down;
        plan.blocks = divide_up(s.outer, plan.outer_a_block) * plan.groups * plan.column_tiles;
        return plan;
    };
    if (!vectors) {
        return layout(kernels.scalar_columns, scalar_run);
    }
    const ColumnPlan long_runs = layout(kernels.columns, long_run);
    const std::size_t wanted = clamped_multiprocessors(gpu) * tuning::column_blocks_a_multiprocessor;
    const bool enough = kernels.columns != nullptr && long_runs.blocks >= wanted;
    return enough ? long_runs : layout(kernels.short_columns, short_run);
}

// Rows of an item: the whole axis where it fits a block's stage and the lanes of a warp, else a power of two.
std::size_t staged_rows(const Shape &s, std::size_t element_bytes) {
    constexpr std::size_t most = run_elements * warp_lanes;
    const std::size_t fit = stage_bytes / (s.inner * element_bytes);
    return s.axis <= std::min(fit, most) ? s.axis : std::min(std::bit_floor(fit), most);
}

bool fits_stage(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels) {
    const auto element_bytes = static_cast<std::size_t>(kernels.element_bytes);
    if (s.axis == 0 || !is_contiguous(s)) {
        return false;
    }
    if (s.inner == 1) {
        const bool packed = fits_packed(s, address, static_cast<std::size_t>(bytes_a_tile) / element_bytes, kernels) ||
                            fits_padded(s, address, kernels);
        return s.outer > 1 && !packed && s.axis <= run_elements * warp_lanes &&
               s.axis * element_bytes <= tuning::staged_row_bytes;
    }
    const std::size_t line =
        columns_are_vectors(s, address, kernels) ? tuning::staged_line_bytes_of_vectors : tuning::staged_line_bytes;
    return s.inner * element_bytes < line;
}

StagedPlan plan_stage(const Shape &s, const ReduceKernels &kernels) {
    const auto element_bytes = static_cast<std::size_t>(kernels.element_bytes);
    StagedPlan plan{};
    const std::size_t rows = staged_rows(s, element_bytes);
    plan.rows = static_cast<int>(rows);
    plan.groups = divide_up(s.axis, rows);
    plan.items = s.outer * plan.groups;
    plan.items_a_block = static_cast<int>(std::max<std::size_t>(stage_bytes / (rows * s.inner * element_bytes), 1));
    plan.lanes_log2 = std::countr_zero(std::bit_ceil(divide_up(rows, std::size_t{run_elements})));
    // Runs lie run_elements * inner elements apart: one gap, or an odd number of them, in between.
    plan.gap_shift = std::max(least_gap_shift, std::countr_zero(run_elements * s.inner * element_bytes));
    return plan;
}

// Strides along a size of 1 mean nothing; a matrix of adjacent columns without an inner axis is read as one with.
Shape normalised(Shape s) {
    if (s.inner == 1 && s.axis_stride != 1 && s.axis > 1 && s.outer > 1 && s.outer_stride == 1) {
        return {1, s.axis, s.outer, 0, s.axis_stride, 1};
    }
    if (s.axis <= 1) {
        s.axis_stride = 1;
    }
    return s;
}

} // namespace

ReducePlan plan_reduction(const Shape &shape, std::uintptr_t address, const ReduceKernels &kernels, GpuFacts gpu) {
    ReducePlan plan{normalised(shape), ReduceRegime::rows, {}, {}, {}, 0};
    const Shape &s = plan.shape;
    if (fits_stage(s, address, kernels)) {
        plan.regime = ReduceRegime::staged;
        plan.staged = plan_stage(s, kernels);
        plan.partials = plan.staged.groups > 1 ? plan.staged.items * s.inner : 0;
    } else if (s.inner > 1 && s.inner_stride == 1 && s.axis > 0 && (s.axis_stride != 1 || s.axis == 1)) {
        plan.regime = ReduceRegime::columns;
        plan.columns = plan_columns(s, address, kernels, gpu);
        plan.partials = plan.columns.groups > 1 ? s.outer * plan.columns.groups * s.inner : 0;
    } else {
        plan.rows = plan_rows(s, address, kernels, gpu);
        const bool leaves = plan.rows.regime == RowRegime::rows && plan.rows.pieces > 1;
        plan.partials = leaves ? s.outer * s.inner * (plan.rows.shared ? 1 : plan.rows.pieces) : 0;
    }
    return plan;
}

Shape partials_shape(const ReducePlan &plan) {
    const Shape &s = plan.shape;
    if (plan.regime == ReduceRegime::rows) {
        const std::size_t pieces = plan.rows.shared ? 1 : plan.rows.pieces;
        return {s.outer * s.inner, pieces, 1, static_cast<std::ptrdiff_t>(pieces), 1, 1};
    }
    const std::size_t groups = plan.regime == ReduceRegime::columns ? plan.columns.groups : plan.staged.groups;
    const std::size_t inner = s.inner;
    return {s.outer, groups, inner, static_cast<std::ptrdiff_t>(groups * inner), static_cast<std::ptrdiff_t>(inner), 1};
}

} // namespace wr::cuda
