#include "cuda/reduce/plan.h"

#include "cuda/common/tuning.h"
#include "cuda/common/vector_types.h"
#include "cuda/common/warp.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

constexpr std::size_t block_warps = 8;
constexpr std::size_t block_threads = 256;
constexpr int most_tiles = 32; // a warp keeps one tile's result a lane
constexpr std::size_t least_staged_run = 8;
constexpr std::size_t most_staged_cells = 16384; // runs of the longest length, one a thread

// Elements are of 1 to 16 bytes, a power of two.
int log2_of_size(const ReduceKernels &kernels) {
    return std::countr_zero(static_cast<unsigned>(kernels.element_bytes));
}

std::size_t clamped_multiprocessors(GpuFacts gpu) {
    return static_cast<std::size_t>(std::min(gpu.multiprocessors, tuning::most_multiprocessors));
}

// Blocks for a row whose warps take 2^tiles_log2 tiles each.
std::size_t pieces_of(std::size_t row_tiles, int tiles_log2) {
    const std::size_t of_block = block_warps << tiles_log2;
    return (row_tiles + of_block - 1) >> std::countr_zero(of_block);
}

int tiles_for(std::size_t rows, std::size_t row_tiles, GpuFacts gpu) {
    const std::size_t wanted = clamped_multiprocessors(gpu) * tuning::blocks_a_multiprocessor;
    int log2 = std::countr_zero(unsigned{tuning::tiles_a_warp});
    while (log2 > 0 && rows * pieces_of(row_tiles, log2) < wanted) {
        --log2;
    }
    // As many blocks as are there at a time, rather than a few that begin when those end. (A workspace query answers
    // for GPUs without dependent launches, and for more partial results than these leave.)
    const std::size_t at_a_time = clamped_multiprocessors(gpu) * tuning::blocks_at_a_time;
    if (gpu.dependent_launch && rows * pieces_of(row_tiles, log2) > at_a_time &&
        rows * pieces_of(row_tiles, log2 + 1) <= at_a_time) {
        ++log2;
    }
    // Enough rows to fill the GPU: a block may as well take a whole one.
    const std::size_t whole = std::bit_ceil(divide_up(row_tiles, block_warps));
    return static_cast<int>(rows >= wanted && whole <= most_tiles ? std::max(whole, std::size_t{1})
                                                                  : std::size_t{1} << log2);
}

struct ClusterShape {
    std::size_t blocks, warps;
};

// Of wide clusters as long as all rows' find room at a time. A cluster's blocks have 8 warps; 16 where 8 would leave
// each warp several tiles one after the other. (With 32, a block starts so much later that 2^18 f32 took 4.5 us instead
// of 4.1 in a graph on an H200.)
ClusterShape cluster_shape(std::size_t rows, std::size_t row_tiles, const ReduceKernels &kernels, GpuFacts gpu) {
    const std::size_t most_warps = kernels.cluster_rows != nullptr ? 2 * block_warps : block_warps;
    const auto shape = [&](int most_blocks, std::size_t warps) -> ClusterShape {
        return {std::min(std::bit_ceil(divide_up(row_tiles, warps)), static_cast<std::size_t>(most_blocks)), warps};
    };
    if (gpu.wide_cluster_blocks > gpu.cluster_blocks) {
        const ClusterShape wide =
            shape(gpu.wide_cluster_blocks, row_tiles <= tuning::cluster_tiles ? block_warps : most_warps);
        if (rows * wide.blocks <= clamped_multiprocessors(gpu)) {
            return wide;
        }
    }
    const std::size_t needed = std::bit_ceil(divide_up(row_tiles, static_cast<std::size_t>(gpu.cluster_blocks)));
    return shape(gpu.cluster_blocks, std::clamp<std::size_t>(needed, block_warps, most_warps));
}

std::size_t most_cluster_tiles(std::size_t rows, const ReduceKernels &kernels) {
    if (kernels.cluster_rows != nullptr) {
        return tuning::wide_cluster_tiles;
    }
    if (!kernels.rows_run_as_clusters) {
        return 0;
    }
    return rows == 1 ? tuning::general_cluster_tiles : tuning::general_cluster_tiles_of_several;
}

bool fits_cluster(std::size_t rows, std::size_t row_tiles, const ReduceKernels &kernels, GpuFacts gpu) {
    if (gpu.cluster_blocks == 0 || row_tiles <= block_warps || row_tiles > most_cluster_tiles(rows, kernels)) {
        return false;
    }
    const std::size_t blocks = cluster_shape(rows, row_tiles, kernels, gpu).blocks;
    const bool wide = blocks > static_cast<std::size_t>(gpu.cluster_blocks);
    return (wide || row_tiles <= tuning::cluster_tiles) && rows * blocks <= clamped_multiprocessors(gpu);
}

// Whether warps take whole rows: where a tile is not whole or their number no power of two, the warps that share a row
// would wait for the one that has the end, or for none.
bool suits_single_warps(std::size_t rows, std::size_t row_tiles, bool aligned, bool whole_tiles, GpuFacts gpu) {
    const std::size_t most = aligned ? tuning::single_warp_tiles : tuning::single_warp_shifted_tiles;
    return row_tiles > 1 && row_tiles <= most && !(whole_tiles && std::has_single_bit(row_tiles)) &&
           rows >= clamped_multiprocessors(gpu) * tuning::single_warps_a_multiprocessor;
}

bool rows_are_aligned(const Shape &s, std::uintptr_t address, int element_bytes) {
    const auto steps = static_cast<std::ptrdiff_t>(bytes_of_vector) / element_bytes;
    return address % bytes_of_vector == 0 && (s.outer <= 1 || s.outer_stride % steps == 0) &&
           (s.inner <= 1 || s.inner_stride % steps == 0);
}

bool rows_touch(const Shape &s) {
    return s.inner == 1 && s.axis_stride == 1 && s.outer_stride == static_cast<std::ptrdiff_t>(s.axis);
}

bool fits_packed(const Shape &s, std::uintptr_t address, std::size_t tile, const ReduceKernels &kernels) {
    return kernels.aligned_packed_rows != nullptr && rows_touch(s) && address % bytes_of_vector == 0 &&
           std::has_single_bit(s.axis) && s.axis < tile && s.outer > 1;
}

// Rows of up to three vectors, of which a thread takes three.
bool fits_triples(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels) {
    const std::size_t elements = bytes_of_vector >> log2_of_size(kernels);
    return kernels.aligned_triple_rows != nullptr && rows_touch(s) && address % bytes_of_vector == 0 && s.outer > 1 &&
           s.axis % 3 == 0 && s.axis <= 3 * elements && std::has_single_bit(s.axis / 3);
}

RowPlan plan_rows(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels, GpuFacts gpu) {
    const std::size_t rows = s.outer * s.inner;
    RowPlan plan{RowRegime::rows, s.axis_stride == 1, false, 1, 1, 1, false, 1};
    plan.aligned = rows_are_aligned(s, address, kernels.element_bytes);
    const std::size_t elements =
        plan.vectors ? static_cast<std::size_t>(bytes_a_tile) >> log2_of_size(kernels) : scattered_tile;
    const std::size_t row_tiles = s.axis == 0 ? 0 : ((s.axis - 1) >> std::countr_zero(elements)) + 1;
    if (fits_packed(s, address, elements, kernels)) {
        plan.regime = RowRegime::packed;
        plan.rows_a_block = elements / s.axis * block_warps;
        return plan;
    }
    if (fits_triples(s, address, kernels)) {
        plan.regime = RowRegime::triples;
        plan.rows_a_block = (3 * bytes_of_vector >> log2_of_size(kernels)) / s.axis * block_threads *
                            static_cast<std::size_t>(kernels.triples_a_thread);
        return plan;
    }
    if (plan.vectors && fits_cluster(rows, row_tiles, kernels, gpu)) {
        plan.regime = RowRegime::cluster;
        const ClusterShape cluster = cluster_shape(rows, row_tiles, kernels, gpu);
        plan.pieces = cluster.blocks;
        plan.warps = static_cast<int>(cluster.warps);
        plan.tiles = static_cast<int>(std::bit_ceil(divide_up(row_tiles, cluster.warps * cluster.blocks)));
        return plan;
    }
    if (plan.vectors && suits_single_warps(rows, row_tiles, plan.aligned, s.axis % elements == 0, gpu)) {
        plan.tiles = static_cast<int>(std::bit_ceil(row_tiles));
        plan.rows_a_block = block_warps;
        return plan;
    }
    plan.warps = static_cast<int>(std::min(block_warps, std::bit_ceil(std::max(row_tiles, std::size_t{1}))));
    if (row_tiles > block_warps) {
        plan.tiles = tiles_for(rows, row_tiles, gpu);
        plan.pieces = pieces_of(row_tiles, std::countr_zero(static_cast<unsigned>(plan.tiles)));
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

// Narrow columns that have a kernel of their own, where their rows are many.
struct NarrowColumns {
    const void *kernel;         // nullptr where there is none that takes them, or they are not many enough
    std::size_t across, groups; // lanes that share a row, blocks that share an outer index
};

NarrowColumns narrow_columns(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels, GpuFacts gpu) {
    const auto element_bytes = static_cast<std::size_t>(kernels.element_bytes);
    const std::size_t row_bytes = s.inner * element_bytes, bytes = s.axis * row_bytes;
    const std::size_t across = row_bytes / bytes_of_vector;
    const bool whole = row_bytes % bytes_of_vector == 0 && (across == 1 || across == 2 || across == 4);
    const bool triples = (s.inner == 3 || s.inner == 6) && (s.outer == 1 || bytes % bytes_of_vector == 0);
    const void *kernel = whole ? kernels.narrow_columns : triples ? kernels.triple_columns : nullptr;
    if (kernel == nullptr || address % bytes_of_vector != 0 || !is_contiguous(s)) {
        return {};
    }
    const std::size_t block_bytes = (whole ? narrow_column_vectors : triple_column_vectors) * bytes_of_vector;
    const std::size_t whole_blocks = s.outer * (bytes / block_bytes);
    if (whole_blocks < clamped_multiprocessors(gpu) * tuning::narrow_column_blocks_a_multiprocessor) {
        return {};
    }
    return {kernel, whole ? across : 1, divide_up(bytes, block_bytes)};
}

ColumnPlan plan_narrow_columns(const Shape &s, const NarrowColumns &narrow) {
    const int across = static_cast<int>(narrow.across), down = static_cast<int>(block_threads) / across;
    return {narrow.kernel, narrow.groups, 1, across, down, 1, s.outer * narrow.groups};
}

ColumnPlan plan_columns(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels, GpuFacts gpu) {
    const bool vectors = columns_are_vectors(s, address, kernels);
    const std::size_t elements =
        vectors ? static_cast<std::size_t>(kernels.column_vector_bytes / kernels.element_bytes) : 1;
    const std::size_t across = divide_up(s.inner, elements);
    const auto layout = [&](const void *kernel, std::size_t run) {
        ColumnPlan plan{kernel, 1, 1, 1, 1, 1, 0};
        const std::size_t runs = std::bit_ceil(divide_up(std::max(s.axis, std::size_t{1}), run));
        const bool few = across <= tuning::few_column_vectors;
        const std::size_t narrowest = few ? tuning::vectors_across_few : tuning::vectors_across_many;
        const std::size_t widest = std::max(block_threads / std::min(runs, block_threads), narrowest);
        // A few vectors that are no whole lines stand side by side all of them: no thread is idle, no piece of memory
        // two blocks'. (48 columns of f32 as 2 times 8 vectors, a quarter of them absent: 3.99 TB/s; 2 times 6: 3.64.)
        const std::size_t threads_across =
            few && across % tuning::vectors_across_few != 0 ? across : std::min(std::bit_ceil(across), widest);
        const std::size_t threads_down = std::min(runs, std::bit_floor(block_threads / threads_across));
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
    if (kernels.few_rows != nullptr && s.axis <= few_rows_axis && across >= tuning::few_rows_vectors_across) {
        const std::size_t tiles = divide_up(across, few_rows_vectors * block_threads);
        return {kernels.few_rows, 1, tiles, static_cast<int>(block_threads), 1, 1, s.outer * tiles};
    }
    const ColumnPlan long_runs = layout(kernels.columns, long_run);
    const std::size_t wanted = clamped_multiprocessors(gpu) * tuning::column_blocks_a_multiprocessor;
    const bool enough = kernels.columns != nullptr && long_runs.blocks >= wanted;
    return enough ? long_runs : layout(kernels.short_columns, short_run);
}

// Rows of whole vectors that a block reduces to a tree each before they are staged. Rows of whole tiles are a warp's.
bool fits_staged_vectors(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels) {
    const std::size_t elements = bytes_of_vector / static_cast<std::size_t>(kernels.element_bytes);
    const std::size_t row_bytes = s.axis * static_cast<std::size_t>(kernels.element_bytes);
    return kernels.staged_vectors != nullptr && rows_touch(s) && s.outer > 1 && address % bytes_of_vector == 0 &&
           s.axis > elements && s.axis % elements == 0 && row_bytes % bytes_a_tile != 0 &&
           row_bytes <= tuning::staged_vector_row_bytes;
}

bool fits_stage(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels, GpuFacts gpu) {
    const auto element_bytes = static_cast<std::size_t>(kernels.element_bytes);
    if (s.axis == 0 || !is_contiguous(s) || narrow_columns(s, address, kernels, gpu).kernel != nullptr) {
        return false;
    }
    if (s.inner == 1) {
        if (s.outer <= 1) {
            return false;
        }
        const bool packed = fits_packed(s, address, static_cast<std::size_t>(bytes_a_tile) / element_bytes, kernels);
        return !packed && !fits_triples(s, address, kernels) &&
               (s.axis * element_bytes <= tuning::staged_row_bytes || fits_staged_vectors(s, address, kernels));
    }
    const std::size_t line =
        columns_are_vectors(s, address, kernels) ? tuning::staged_line_bytes_of_vectors : tuning::staged_line_bytes;
    return s.inner * element_bytes < line;
}

// Threads of a block, cells that it stages, rows of an item: the whole axis where it fits and its longest runs are one
// a thread at most, else a power of two. Where items of the most rows leave much of a stage empty, a smaller block has
// less to leave (24 columns of f32: 192 threads); else items of fewer rows.
void plan_items(StagedPlan &plan, std::size_t inner, std::size_t cells_a_thread) {
    constexpr std::size_t blocks[] = {block_threads, block_threads / 4 * 3};
    const auto stage = [&](std::size_t threads, std::size_t rows) {
        const std::size_t cells = threads * cells_a_thread;
        const std::size_t of_item = std::max<std::size_t>(rows * inner, 1);
        plan.threads = threads;
        plan.rows = rows;
        plan.items_a_block = std::max<std::size_t>(cells / of_item, 1);
        return plan.items_a_block * of_item >= cells / 8 * 7;
    };
    const auto most_rows = [&](std::size_t threads) {
        const std::size_t cells = threads * cells_a_thread;
        return std::min(cells / inner, cells / least_staged_run);
    };
    const std::size_t runs = divide_up(plan.axis, std::size_t{most_run_elements});
    if (plan.axis * inner <= block_threads * cells_a_thread &&
        (runs == 1 || runs <= std::min(block_threads / inner, std::size_t{most_run_elements}))) {
        stage(block_threads, plan.axis);
        return;
    }
    for (const std::size_t threads : blocks) {
        if (stage(threads, std::bit_floor(std::min(plan.axis, most_rows(threads))))) {
            return;
        }
    }
    std::size_t rows = std::bit_floor(std::min(plan.axis, most_rows(block_threads)));
    while (!stage(block_threads, rows) && rows > tuning::least_staged_rows) {
        rows /= 2;
    }
}

// The shortest runs that leave a block's threads one task each, and few enough for one thread to end with. Where even
// the longest do not, fewer items.
void plan_runs(StagedPlan &plan, std::size_t inner, std::size_t cell_bytes) {
    for (plan.run = std::max(least_staged_run, bytes_of_vector / cell_bytes);; plan.run *= 2) {
        plan.runs = divide_up(plan.rows, plan.run);
        const bool few = plan.runs <= most_run_elements && plan.items_a_block * inner * plan.runs <= plan.threads;
        if (plan.runs == 1 || few) {
            return;
        }
        if (plan.run == most_run_elements) {
            plan.items_a_block = plan.threads / (inner * plan.runs);
            return;
        }
    }
}

// Where the gaps are, as the kernels' threads walk: neighbours in columns of neighbouring runs, which a gap of a row
// sets apart, or of neighbouring items, which lie apart by an odd number of vectors (of trees over vectors: of cells).
void plan_gaps(StagedPlan &plan, std::size_t inner, std::size_t cell_bytes, bool vectors) {
    plan.runs_are_neighbours = plan.runs > 1 && (plan.items_a_block == 1 || plan.rows % plan.run == 0);
    const std::size_t row_gap =
        vectors ? 1 : divide_up(inner * cell_bytes, bytes_of_vector) * bytes_of_vector / cell_bytes;
    if (plan.runs_are_neighbours) {
        plan.unit = plan.run * inner;
        plan.gap = row_gap;
        plan.run_pitch = plan.unit + plan.gap;
        plan.item_pitch = plan.runs * plan.run_pitch;
        return;
    }
    plan.unit = plan.rows * inner;
    const std::size_t grains = vectors ? plan.unit : plan.unit * cell_bytes / bytes_of_vector;
    const bool whole_grains = vectors || plan.unit * cell_bytes % bytes_of_vector == 0;
    plan.gap = whole_grains && grains % 2 == 0 ? row_gap : 0;
    plan.run_pitch = plan.run * inner;
    plan.item_pitch = plan.unit + plan.gap;
}

StagedPlan plan_stage(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels) {
    const auto element_bytes = static_cast<std::size_t>(kernels.element_bytes);
    const bool vectors = fits_staged_vectors(s, address, kernels);
    const std::size_t cell_bytes = vectors ? bytes_of_vector : element_bytes;
    const std::size_t cells = std::min(static_cast<std::size_t>(stage_bytes) / cell_bytes, most_staged_cells);
    StagedPlan plan{};
    plan.kernel = vectors ? kernels.staged_vectors : kernels.staged;
    plan.axis = s.axis * element_bytes / cell_bytes;
    plan_items(plan, s.inner, cells / block_threads);
    plan.groups = divide_up(plan.axis, plan.rows);
    plan.items_a_block = std::min(plan.items_a_block, plan.groups == 1 ? s.outer : plan.groups);
    plan_runs(plan, s.inner, cell_bytes);
    plan_gaps(plan, s.inner, cell_bytes, vectors);
    plan.items_a_block = std::clamp<std::size_t>(cells / 8 * 9 / plan.item_pitch, 1, plan.items_a_block);
    const std::size_t staged = plan.items_a_block * plan.rows * s.inner;
    const std::size_t places = staged + divide_up(staged, plan.unit) * plan.gap;
    plan.shared_bytes = vectors ? 0 : places * cell_bytes + 2 * bytes_of_vector; // an unaligned piece has a vector more
    plan.group_blocks = divide_up(plan.groups, plan.items_a_block);
    plan.blocks = plan.groups == 1 ? divide_up(s.outer, plan.items_a_block) : s.outer * plan.group_blocks;
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
    ReducePlan plan{normalised(shape), ReduceRegime::rows, {}, 0};
    const Shape &s = plan.shape;
    if (fits_stage(s, address, kernels, gpu)) {
        plan.regime = ReduceRegime::staged;
        plan.staged = plan_stage(s, address, kernels);
        plan.partials = plan.staged.groups > 1 ? s.outer * plan.staged.groups * s.inner : 0;
    } else if (s.inner > 1 && s.inner_stride == 1 && s.axis > 0 && (s.axis_stride != 1 || s.axis == 1)) {
        plan.regime = ReduceRegime::columns;
        const NarrowColumns narrow = narrow_columns(s, address, kernels, gpu);
        plan.columns =
            narrow.kernel != nullptr ? plan_narrow_columns(s, narrow) : plan_columns(s, address, kernels, gpu);
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
