#include "cuda/reduce/plan.h"

#include "cuda/common/gpu_facts.h"
#include "cuda/common/vectors.h"
#include "cuda/reduce/policy.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

constexpr std::size_t block_warps = 8;
constexpr std::size_t block_threads = 256;
constexpr int most_tiles = 32; // a warp keeps one tile's result a lane

// Columns: vectors that a block takes side by side at least. Where a row has few of them, a line of 128 bytes leaves
// more of the block for the rows and saves a stage (2M x 128 f32: 4.33 TB/s); else 512 bytes.
constexpr std::size_t few_column_vectors = 64;
constexpr std::size_t vectors_across_few = 8;
constexpr std::size_t vectors_across_many = 32;

constexpr std::size_t least_column_threads = 64;
constexpr std::size_t least_parted_run = 2 * least_column_run; // of columns that leave partial results

// What the rules look at.
struct Problem {
    Shape shape;
    std::uintptr_t address;
    const ReduceKernels &kernels;
    GpuFacts gpu;
    const ReducePolicy &policy;
    std::size_t multiprocessors = 0;
    std::size_t element_bytes = 0, vector_elements = 0;
    bool aligned = false; // every row starts on a boundary of vectors
    bool rows_touch = false;
    bool vector_columns = false;
    std::size_t rows = 0, row_tiles = 0; // rows of the axis, whole warps' tiles of each

    std::size_t row_bytes() const { return shape.axis * element_bytes; }
};

bool columns_are_vectors(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels) {
    const auto bytes = static_cast<std::size_t>(kernels.column_vector_bytes);
    const std::size_t elements = bytes / static_cast<std::size_t>(kernels.element_bytes);
    return address % bytes == 0 && s.inner % elements == 0 && steps_by_vectors(s.axis, s.axis_stride, elements) &&
           steps_by_vectors(s.outer, s.outer_stride, elements);
}

Problem problem_of(const Shape &s, std::uintptr_t address, const ReduceKernels &kernels, GpuFacts gpu) {
    Problem p{.shape = s,
              .address = address,
              .kernels = kernels,
              .gpu = gpu,
              .policy = reduce_policy(gpu),
              .rows = s.outer * s.inner};
    p.multiprocessors = static_cast<std::size_t>(std::min(gpu.multiprocessors, tuning::most_multiprocessors));
    p.element_bytes = static_cast<std::size_t>(kernels.element_bytes);
    p.vector_elements = bytes_of_vector / p.element_bytes;
    p.aligned = rows_are_aligned(s, address, p.vector_elements);
    p.rows_touch = s.inner == 1 && s.axis_stride == 1 && s.outer_stride == static_cast<std::ptrdiff_t>(s.axis);
    p.vector_columns = columns_are_vectors(s, address, kernels);
    const std::size_t tile =
        s.axis_stride == 1 ? static_cast<std::size_t>(bytes_a_tile) / p.element_bytes : strided_tile;
    p.row_tiles = s.axis == 0 ? 0 : ((s.axis - 1) >> std::countr_zero(tile)) + 1;
    return p;
}

bool are_few_rows(const Problem &p) { return p.rows <= p.multiprocessors * p.policy.few_rows; }

// Rows of a power of two elements, of which a warp's tile holds several. A tile of which a part is missing takes longer
// than whole ones (sums of 64 x 8 f32 3.0 us).
bool takes_packed_rows(const Problem &p) {
    return p.kernels.packed_rows != nullptr && p.rows_touch && p.address % bytes_of_vector == 0 && p.rows > 1 &&
           std::has_single_bit(p.shape.axis) && p.row_bytes() < static_cast<std::size_t>(bytes_a_tile) &&
           p.row_bytes() >= static_cast<std::size_t>(p.kernels.least_packed_bytes) &&
           (p.rows * p.row_bytes() % bytes_a_tile == 0 || !are_few_rows(p));
}

RowPlan plan_packed_rows(const Problem &p) {
    const std::size_t rows_a_tile = static_cast<std::size_t>(bytes_a_tile) / p.row_bytes();
    const std::size_t tiles = divide_up(p.rows, rows_a_tile);
    std::size_t warps = block_warps;
    while (warps > 1 && 2 * divide_up(tiles, warps) < p.multiprocessors) {
        warps /= 2;
    }
    return {.rows_a_block = rows_a_tile * warps, .block_warps = static_cast<int>(warps)};
}

// Rows of up to three vectors, of which a thread takes three.
bool takes_three_vector_rows(const Problem &p) {
    return p.kernels.three_vector_rows != nullptr && p.rows_touch && p.address % bytes_of_vector == 0 && p.rows > 1 &&
           p.shape.axis % 3 == 0 && p.shape.axis <= 3 * p.vector_elements && std::has_single_bit(p.shape.axis / 3);
}

RowPlan plan_three_vector_rows(const Problem &p) {
    const std::size_t of_thread =
        3 * p.vector_elements / p.shape.axis * static_cast<std::size_t>(p.kernels.triples_a_thread);
    return {.rows_a_block = of_thread * block_threads};
}

bool is_row_a_warp(const Problem &p) {
    return p.shape.inner == 1 && p.shape.axis_stride == 1 && p.aligned && p.row_tiles == 1 && are_few_rows(p);
}

// Rows of whole vectors that are no whole tiles, which are warps' own.
bool takes_staged_vectors(const Problem &p) {
    return p.kernels.staged_vectors != nullptr && p.rows_touch && p.rows > 1 && p.address % bytes_of_vector == 0 &&
           p.shape.axis >= p.vector_elements && p.shape.axis % p.vector_elements == 0 &&
           p.row_bytes() % bytes_a_tile != 0 &&
           p.row_bytes() <=
               (p.kernels.adds_norms ? p.policy.staged_vector_row_bytes_of_norms : p.policy.staged_vector_row_bytes);
}

bool takes_staged(const Problem &p) {
    if (p.shape.axis == 0 || !is_contiguous(p.shape)) {
        return false;
    }
    if (p.shape.inner == 1) {
        const std::size_t most = p.aligned && p.kernels.finds_place ? p.policy.staged_row_bytes_of_places
                                 : !p.aligned && !are_few_rows(p)   ? p.policy.staged_unaligned_row_bytes
                                                                    : p.policy.staged_row_bytes;
        return p.rows > 1 && p.row_bytes() <= most;
    }
    const std::size_t line = p.vector_columns ? p.policy.staged_line_bytes_of_vectors : p.policy.staged_line_bytes;
    return p.shape.inner * p.element_bytes < line;
}

bool takes_columns(const Problem &p) {
    const Shape &s = p.shape;
    return s.inner > 1 && s.inner_stride == 1 && s.axis > 0 && (s.axis_stride != 1 || s.axis == 1);
}

// How wide the blocks for columns may be, in vectors or single columns.
struct ColumnWidths {
    std::size_t across;           // that there are
    std::size_t narrowest, usual; // of many rows
    std::size_t narrow, wide;     // of few, for which there is room
    std::size_t most_run;         // rows of a thread
};

ColumnWidths column_widths(const Problem &p) {
    const std::size_t elements =
        p.vector_columns ? static_cast<std::size_t>(p.kernels.column_vector_bytes) / p.element_bytes : 1;
    const auto most_run = static_cast<std::size_t>(elements > 1 ? p.kernels.most_column_run : most_single_column_run);
    const std::size_t across = divide_up(p.shape.inner, elements);
    const bool few = across <= few_column_vectors;
    if (few && across % vectors_across_few != 0) {
        return {across, across, across, across, across, most_run};
    }
    const std::size_t all = std::min(std::bit_ceil(across), block_threads);
    const auto room_beside = [&](std::size_t run) {
        return block_threads / std::min(std::bit_ceil(divide_up(p.shape.axis, run)), block_threads);
    };
    ColumnWidths widths{across, 0, 0, 0, 0, most_run};
    widths.narrowest = std::min(all, few || elements > 1 ? vectors_across_few : vectors_across_many);
    widths.usual = std::min(all, few ? vectors_across_few : vectors_across_many);
    widths.narrow = std::max(widths.narrowest, std::min({all, room_beside(least_column_run), least_column_threads}));
    widths.wide = std::max(widths.usual, std::min(all, room_beside(most_run)));
    return widths;
}

std::size_t threads_down(const Problem &p, std::size_t width, std::size_t run) {
    return std::min(std::bit_ceil(divide_up(p.shape.axis, run)), std::bit_floor(block_threads / width));
}

ColumnPlan column_blocks(const Problem &p, const ColumnWidths &widths, std::size_t width, std::size_t run) {
    const Shape &s = p.shape;
    const std::size_t down = threads_down(p, width, run);
    ColumnPlan plan{};
    plan.vectors = p.vector_columns;
    plan.run = static_cast<int>(run);
    plan.threads_across = static_cast<int>(width);
    plan.threads_down = static_cast<int>(down);
    plan.vectors_a_thread = 1;
    plan.groups = divide_up(s.axis, run * down);
    plan.column_tiles = divide_up(widths.across, width);
    plan.outer_a_block = std::min(block_threads / width / down, s.outer);
    plan.blocks = divide_up(s.outer, plan.outer_a_block) * plan.column_tiles * plan.groups;
    return plan;
}

// Where the blocks that share columns are so few that all find room at a time, they are a cluster and finish these.
bool make_cluster(const Problem &p, ColumnPlan &plan) {
    const std::size_t cluster = std::bit_ceil(plan.groups), blocks = plan.blocks / plan.groups * cluster;
    const std::size_t most = std::min<std::size_t>(static_cast<std::size_t>(p.gpu.cluster_blocks), most_column_cluster);
    if (plan.groups == 1 || cluster > most || blocks * cluster > p.multiprocessors * most_column_cluster) {
        return false;
    }
    plan.groups_are_clusters = true;
    plan.groups = cluster;
    plan.blocks = blocks;
    return true;
}

// Rows of each of `down` threads that share the axis: equal shares where no order is to be kept (places of 150 rows of
// f32 344 us with shares of 128 and 22), else subtrees.
std::size_t column_run(const Problem &p, std::size_t down) {
    const std::size_t share = divide_up(p.shape.axis, down), least = least_column_run;
    return p.kernels.order_free ? divide_up(share, least) * least : std::max(std::bit_ceil(share), least);
}

// A thread has all rows of so many vectors that it waits for no fewer loads than along a longer axis.
bool take_short_axis(const Problem &p, const ColumnWidths &widths, ColumnPlan &plan) {
    const std::size_t axis = p.shape.axis;
    if (p.kernels.short_columns == nullptr || !p.vector_columns || axis < 2 || axis > std::size_t{most_short_axis}) {
        return false;
    }
    const std::size_t vectors = least_column_run / std::bit_ceil(axis), threads = divide_up(widths.across, vectors);
    ColumnWidths parts = widths;
    parts.across = threads;
    plan = column_blocks(p, parts, std::min(threads, block_threads), least_column_run);
    plan.vectors_a_thread = static_cast<int>(vectors);
    return plan.blocks >= p.multiprocessors * p.policy.short_axis_blocks;
}

// Threads of a block that has one outer index alone, below those that the axis has rows for (means of 16 x 150 x 65536
// bf16, three of eight: 94 us).
void leave_idle_threads_out(const Problem &p, ColumnPlan &plan) {
    if (plan.outer_a_block == 1 && plan.groups == 1 && plan.threads_down <= most_column_cluster) {
        plan.threads_down = static_cast<int>(divide_up(p.shape.axis, static_cast<std::size_t>(plan.run)));
    }
}

// Whether the threads that share an axis would wait for those that have most of it, and narrower blocks, whose threads
// have fewer rows, are there instead.
bool are_uneven(const Problem &p, const ColumnWidths &widths, std::size_t width, std::size_t run) {
    const std::size_t threads = divide_up(p.shape.axis, run);
    return threads > 1 && p.shape.axis * 8 < threads * run * 7 && width / 2 >= widths.usual;
}

// A block takes the whole axis, a thread at most `most_run` rows: by the widest blocks of which there are enough.
bool take_whole_axis(const Problem &p, const ColumnWidths &widths, std::size_t most_run, std::size_t tenths,
                     ColumnPlan &plan) {
    for (std::size_t width = widths.wide; width >= widths.narrowest; width /= 2) {
        const std::size_t run = column_run(p, threads_down(p, width, least_column_run));
        plan = column_blocks(p, widths, width, run);
        const std::size_t enough = width > vectors_across_few ? tenths : p.policy.column_blocks_in_tenths;
        if (run <= most_run && !are_uneven(p, widths, width, run) && plan.blocks * 10 >= p.multiprocessors * enough) {
            leave_idle_threads_out(p, plan);
            return true;
        }
    }
    return false;
}

// A thread has all rows of an axis that is a little longer than its run, rather than that two share them unevenly
// (means of 256 x 49 x 2048 bf16 21.2 us by 512 blocks, 16.0 by 256).
bool take_long_runs(const Problem &p, const ColumnWidths &widths, ColumnPlan &plan) {
    if (p.shape.axis <= widths.most_run || p.shape.axis > std::size_t{long_column_run} ||
        p.kernels.longest_column_run < long_column_run) {
        return false;
    }
    plan = column_blocks(p, widths, std::min(std::bit_ceil(widths.across), block_threads), long_column_run);
    return plan.blocks * 10 >= p.multiprocessors * p.policy.sum_column_blocks_in_tenths;
}

// Small arrays in one launch: a block takes the whole axis, or a cluster does.
bool take_small_array(const Problem &p, const ColumnWidths &widths, ColumnPlan &plan) {
    plan = column_blocks(p, widths, widths.narrow, least_column_run);
    return plan.groups == 1 || make_cluster(p, plan);
}

// Runs as long as leave enough blocks.
ColumnPlan part_axis(const Problem &p, const ColumnWidths &widths) {
    const std::size_t wanted = p.multiprocessors * p.policy.column_part_blocks_in_tenths / 10;
    std::size_t run = widths.most_run;
    while (run > least_parted_run && column_blocks(p, widths, widths.usual, run).blocks < wanted) {
        run /= 2;
    }
    return column_blocks(p, widths, widths.usual, run);
}

// Of kernels that have 16 rows on their way, and others that have 8: sums, products and norms.
ColumnPlan plan_columns_of_floats(const Problem &p, const ColumnWidths &widths) {
    ColumnPlan plan{};
    const auto are_there = [&] { return plan.blocks <= p.multiprocessors * p.policy.few_row_blocks; };
    if (take_whole_axis(p, widths, std::size_t{few_column_rows}, p.policy.column_blocks_in_tenths, plan) &&
        are_there()) {
        plan.few_rows = true;
    } else if (take_long_runs(p, widths, plan) ||
               take_whole_axis(p, widths, widths.most_run, p.policy.sum_column_blocks_in_tenths, plan)) {
        plan.few_rows = plan.run == least_column_run;
    } else {
        plan = take_small_array(p, widths, plan) ? plan : part_axis(p, widths);
        plan.few_rows = plan.run == least_column_run || (plan.run <= few_column_rows && are_there());
    }
    return plan;
}

ColumnPlan plan_columns(const Problem &p) {
    const ColumnWidths widths = column_widths(p);
    ColumnPlan plan{};
    if (take_short_axis(p, widths, plan)) {
        return plan;
    }
    if (p.gpu.multiprocessors == every_gpu) {
        return column_blocks(p, widths, widths.usual, least_parted_run);
    }
    if (p.kernels.columns_of_few_rows != nullptr && p.vector_columns) {
        return plan_columns_of_floats(p, widths);
    }
    if (take_whole_axis(p, widths, widths.most_run, p.policy.column_blocks_in_tenths, plan) ||
        take_small_array(p, widths, plan)) {
        return plan;
    }
    return part_axis(p, widths);
}

bool finishes(const ColumnPlan &plan) { return plan.groups == 1 || plan.groups_are_clusters; }

struct ClusterShape {
    std::size_t blocks, warps;
};

// Where rows are too many for more, and two blocks each are most of a GPU's.
bool may_be_pairs(const Problem &p) {
    return p.row_tiles <= p.policy.cluster_pair_tiles && p.rows * 2 <= p.multiprocessors &&
           p.rows * 4 > p.multiprocessors;
}

// Of wide clusters as long as all rows' find room at a time. A cluster's blocks have 8 warps; 16 where 8 would leave
// each warp more than two tiles one after the other. (With 32, a block starts so much later that 2^18 f32 took 4.5 us
// instead of 4.1 in a graph on an H200.)
ClusterShape cluster_shape(const Problem &p) {
    const std::size_t most_warps = p.kernels.cluster_rows != nullptr ? 2 * block_warps : block_warps;
    const auto shape = [&](int most_blocks, std::size_t warps) -> ClusterShape {
        return {std::min(std::bit_ceil(divide_up(p.row_tiles, warps)), static_cast<std::size_t>(most_blocks)), warps};
    };
    if (p.gpu.wide_cluster_blocks > p.gpu.cluster_blocks) {
        const ClusterShape wide =
            shape(p.gpu.wide_cluster_blocks, p.row_tiles <= p.policy.cluster_tiles ? block_warps : most_warps);
        if (p.rows * wide.blocks <= p.multiprocessors) {
            return wide;
        }
    }
    const auto blocks = static_cast<std::size_t>(p.gpu.cluster_blocks);
    const std::size_t needed = std::bit_ceil(divide_up(p.row_tiles, 2 * blocks));
    const ClusterShape usual = shape(p.gpu.cluster_blocks, std::clamp<std::size_t>(needed, block_warps, most_warps));
    return p.rows * usual.blocks > p.multiprocessors && may_be_pairs(p) ? ClusterShape{2, most_warps} : usual;
}

std::size_t most_cluster_tiles(const Problem &p) {
    if (p.kernels.cluster_rows != nullptr) {
        return p.policy.wide_cluster_tiles;
    }
    if (!p.kernels.rows_run_as_clusters) {
        return 0;
    }
    return p.rows == 1 ? p.policy.general_cluster_tiles : p.policy.general_cluster_tiles_of_several;
}

bool takes_cluster_rows(const Problem &p) {
    if (p.shape.axis_stride != 1 || p.gpu.cluster_blocks == 0 || p.row_tiles <= block_warps ||
        p.row_tiles > most_cluster_tiles(p)) {
        return false;
    }
    const std::size_t blocks = cluster_shape(p).blocks;
    const bool wide = blocks > static_cast<std::size_t>(p.gpu.cluster_blocks);
    return (wide || p.row_tiles <= p.policy.cluster_tiles) && p.rows * blocks <= p.multiprocessors;
}

RowPlan plan_cluster_rows(const Problem &p) {
    const ClusterShape cluster = cluster_shape(p);
    const auto warps = static_cast<int>(cluster.warps);
    RowPlan plan{.aligned = p.aligned, .splits = cluster.blocks, .warps = warps, .block_warps = warps};
    plan.tiles = static_cast<int>(std::bit_ceil(divide_up(p.row_tiles, cluster.warps * cluster.blocks)));
    return plan;
}

// Where a tile is not whole or their number no power of two, the warps that share a row would wait for the one that has
// the end, or for none.
bool takes_warp_rows(const Problem &p) {
    const std::size_t elements = static_cast<std::size_t>(bytes_a_tile) / p.element_bytes;
    const bool even = p.shape.axis % elements == 0 && std::has_single_bit(p.row_tiles);
    return p.shape.axis_stride == 1 && p.row_tiles > 1 &&
           p.row_tiles <= (p.aligned ? p.policy.warp_tiles : p.policy.warp_unaligned_tiles) && !even &&
           p.rows >= p.multiprocessors * p.policy.warp_rows;
}

RowPlan plan_warp_rows(const Problem &p) {
    return {.aligned = p.aligned, .tiles = static_cast<int>(std::bit_ceil(p.row_tiles)), .rows_a_block = block_warps};
}

// Blocks for a row whose warps take 2^tiles_log2 tiles each.
std::size_t splits_of(std::size_t row_tiles, int tiles_log2) {
    const std::size_t of_block = block_warps << tiles_log2;
    return (row_tiles + of_block - 1) >> std::countr_zero(of_block);
}

// Tiles (4 KiB) that a warp takes of a long row. More give fewer partial results, fewer keep small arrays parallel.
constexpr int tiles_a_warp = 8;

// Blocks a multiprocessor should get before warps take more than one tile each.
constexpr int blocks_a_multiprocessor = 8;

int tiles_for(const Problem &p) {
    const std::size_t wanted = p.multiprocessors * blocks_a_multiprocessor;
    int log2 = std::countr_zero(unsigned{tiles_a_warp});
    while (log2 > 0 && p.rows * splits_of(p.row_tiles, log2) < wanted) {
        --log2;
    }
    // As many blocks as are there at a time, rather than a few that begin when those end. (A workspace query answers
    // for GPUs without dependent launches, and for more partial results than these leave.)
    const std::size_t at_a_time = p.multiprocessors * p.policy.blocks_at_a_time;
    if (p.gpu.dependent_launch && p.rows * splits_of(p.row_tiles, log2) > at_a_time &&
        p.rows * splits_of(p.row_tiles, log2 + 1) <= at_a_time) {
        ++log2;
    }
    // Enough rows to fill the GPU: a block may as well take a whole one.
    const std::size_t whole = std::bit_ceil(divide_up(p.row_tiles, block_warps));
    return static_cast<int>(p.rows >= wanted && whole <= most_tiles ? std::max(whole, std::size_t{1})
                                                                    : std::size_t{1} << log2);
}

RowPlan plan_rows(const Problem &p) {
    RowPlan plan{.vectors = p.shape.axis_stride == 1, .aligned = p.aligned};
    plan.warps = static_cast<int>(std::min(block_warps, std::bit_ceil(std::max(p.row_tiles, std::size_t{1}))));
    if (p.row_tiles > block_warps) {
        plan.tiles = tiles_for(p);
        plan.splits = splits_of(p.row_tiles, std::countr_zero(static_cast<unsigned>(plan.tiles)));
    }
    plan.rows_a_block = block_warps / static_cast<std::size_t>(plan.warps);
    while (plan.rows_a_block > 1 && divide_up(p.rows, plan.rows_a_block) < p.multiprocessors) {
        plan.rows_a_block /= 2;
    }
    plan.block_warps = plan.warps * static_cast<int>(plan.rows_a_block);
    return plan;
}

// Blocks of as many warps as are done with all rows soonest, where all blocks there are at a time take as long.
RowPlan plan_dealt_rows(const Problem &p) {
    RowPlan plan{.aligned = p.aligned};
    std::size_t least = ~std::size_t{0};
    for (std::size_t warps = 3; warps <= block_warps; ++warps) {
        const std::size_t turns = divide_up(p.row_tiles, warps);
        const std::size_t blocks_at_a_time = p.multiprocessors * (p.policy.warps_at_a_time / warps);
        const std::size_t time = divide_up(p.rows, blocks_at_a_time) * turns;
        if (turns <= std::size_t{most_tiles} && time < least) {
            least = time;
            plan.tiles = static_cast<int>(turns);
            plan.dealt = plan.block_warps = static_cast<int>(warps);
        }
    }
    return plan;
}

bool takes_dealt_rows(const Problem &p) {
    return p.kernels.deals_tiles && p.policy.warps_at_a_time != 0 && p.shape.axis_stride == 1 &&
           p.row_tiles > block_warps && p.row_tiles <= std::size_t{most_dealt_tiles} &&
           p.rows >= p.multiprocessors * p.policy.dealt_rows && plan_rows(p).splits > 1;
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

void set_rows(ReducePlan &plan, RowPlan rows) {
    plan.rows = rows;
    const bool leaves = plan.algorithm == ReduceAlgorithm::rows && rows.splits > 1;
    plan.partials = leaves ? plan.shape.outer * plan.shape.inner * rows.splits : 0;
}

void set_columns(ReducePlan &plan, const ColumnPlan &columns) {
    plan.columns = columns;
    plan.partials = finishes(columns) ? 0 : plan.shape.outer * columns.groups * plan.shape.inner;
}

void set_staged(ReducePlan &plan, const StagedPlan &staged) {
    plan.staged = staged;
    plan.partials = staged.groups > 1 ? plan.shape.outer * staged.groups * plan.shape.inner : 0;
}

struct Rule {
    ReduceAlgorithm algorithm;
    bool (*takes)(const Problem &);
    void (*plan)(const Problem &, ReducePlan &);
};

// The first that takes a problem has it.
constexpr Rule rules[] = {
    {ReduceAlgorithm::packed_rows, takes_packed_rows,
     [](const Problem &p, ReducePlan &plan) { set_rows(plan, plan_packed_rows(p)); }},
    {ReduceAlgorithm::three_vector_rows, takes_three_vector_rows,
     [](const Problem &p, ReducePlan &plan) { set_rows(plan, plan_three_vector_rows(p)); }},
    {ReduceAlgorithm::rows, is_row_a_warp, [](const Problem &p, ReducePlan &plan) { set_rows(plan, plan_rows(p)); }},
    {ReduceAlgorithm::staged_vectors, takes_staged_vectors,
     [](const Problem &p, ReducePlan &plan) {
         set_staged(plan, plan_stage(p.shape, true, p.kernels.element_bytes, p.gpu));
     }},
    {ReduceAlgorithm::staged, takes_staged,
     [](const Problem &p, ReducePlan &plan) {
         set_staged(plan, plan_stage(p.shape, false, p.kernels.element_bytes, p.gpu));
     }},
    {ReduceAlgorithm::columns, takes_columns,
     [](const Problem &p, ReducePlan &plan) { set_columns(plan, plan_columns(p)); }},
    {ReduceAlgorithm::cluster_rows, takes_cluster_rows,
     [](const Problem &p, ReducePlan &plan) { set_rows(plan, plan_cluster_rows(p)); }},
    {ReduceAlgorithm::dealt_rows, takes_dealt_rows,
     [](const Problem &p, ReducePlan &plan) { set_rows(plan, plan_dealt_rows(p)); }},
    {ReduceAlgorithm::warp_rows, takes_warp_rows,
     [](const Problem &p, ReducePlan &plan) { set_rows(plan, plan_warp_rows(p)); }},
    {ReduceAlgorithm::rows, [](const Problem &) { return true; },
     [](const Problem &p, ReducePlan &plan) { set_rows(plan, plan_rows(p)); }},
};

} // namespace

bool rows_are_aligned(const Shape &s, std::uintptr_t address, std::size_t vector_elements) {
    return address % bytes_of_vector == 0 && steps_by_vectors(s.outer, s.outer_stride, vector_elements) &&
           steps_by_vectors(s.inner, s.inner_stride, vector_elements);
}

ReducePlan plan_reduction(const Shape &shape, std::uintptr_t address, const ReduceKernels &kernels, GpuFacts gpu) {
    ReducePlan plan{normalised(shape), ReduceAlgorithm::rows, {}, 0};
    const Problem problem = problem_of(plan.shape, address, kernels, gpu);
    const Rule *rule = rules;
    while (!rule->takes(problem)) {
        ++rule;
    }
    plan.algorithm = rule->algorithm;
    rule->plan(problem, plan);
    return plan;
}

Shape partials_shape(const ReducePlan &plan) {
    const Shape &s = plan.shape;
    if (plan.algorithm == ReduceAlgorithm::rows) {
        const std::size_t splits = plan.rows.splits;
        return {s.outer * s.inner, splits, 1, static_cast<std::ptrdiff_t>(splits), 1, 1};
    }
    const std::size_t groups = plan.algorithm == ReduceAlgorithm::columns ? plan.columns.groups : plan.staged.groups;
    const std::size_t inner = s.inner;
    return {s.outer, groups, inner, static_cast<std::ptrdiff_t>(groups * inner), static_cast<std::ptrdiff_t>(inner), 1};
}

} // namespace wr::cuda
