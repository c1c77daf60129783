// What a block of the staging kernels takes, and how it lies in shared memory.
#include "cuda/common/vectors.h"
#include "cuda/reduce/plan.h"
#include "cuda/reduce/policy.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace wr::cuda {

namespace {

constexpr std::size_t block_threads = 256;
constexpr std::size_t least_staged_run = 8;
constexpr std::size_t most_staged_cells = 16384; // runs of the longest length, one a thread

// Items of columns of fewer rows would leave too many partial results: of up to 16 bytes each, an eighth of what is
// read.
std::size_t least_staged_rows(std::size_t element_bytes) { return element_bytes == 1 ? 128 : 64; }

// Threads of a block, cells that it stages, rows of an item: the whole axis where it fits and its longest runs are one
// a thread at most, else a power of two. Where items of the most rows leave much of a stage empty, a smaller block has
// less to leave (24 columns of f32: 192 threads); else items of fewer rows.
void plan_items(StagedPlan &plan, std::size_t inner, std::size_t cells_a_thread, std::size_t least_rows) {
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
    while (!stage(block_threads, rows) && rows > least_rows) {
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

// Where a few blocks could have everything between them, more of them have less each: fewer rows of an item that is a
// part of the axis, fewer items otherwise, still so many that blocks begin on boundaries of vectors.
void spread(StagedPlan &plan, const Shape &s, std::size_t cell_bytes, std::size_t least_rows, GpuFacts gpu) {
    const std::size_t wanted = static_cast<std::size_t>(gpu.multiprocessors) * reduce_policy(gpu).staged_blocks;
    while (plan.groups > 1 && s.outer * divide_up(plan.groups, plan.items_a_block) < wanted && plan.rows > least_rows) {
        plan.rows /= 2;
        plan.groups = divide_up(plan.axis, plan.rows);
    }
    if (plan.groups > 1) {
        return;
    }
    const std::size_t item_bytes = plan.rows * s.inner * cell_bytes;
    const std::size_t step = bytes_of_vector / std::gcd(bytes_of_vector, item_bytes);
    const std::size_t fewest =
        std::max(divide_up(s.outer, wanted), divide_up(reduce_policy(gpu).least_staged_bytes, item_bytes));
    plan.items_a_block = std::min({plan.items_a_block, s.outer, divide_up(fewest, step) * step});
    plan.items_a_block -= plan.items_a_block > step ? plan.items_a_block % step : 0;
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

} // namespace

StagedPlan plan_stage(const Shape &s, bool vectors, int bytes_of_element, GpuFacts gpu) {
    const auto element_bytes = static_cast<std::size_t>(bytes_of_element);
    const std::size_t cell_bytes = vectors ? bytes_of_vector : element_bytes;
    const std::size_t cells = std::min(static_cast<std::size_t>(block_stage_bytes) / cell_bytes, most_staged_cells);
    StagedPlan plan{};
    plan.axis = s.axis * element_bytes / cell_bytes;
    const std::size_t least_rows = least_staged_rows(element_bytes);
    plan_items(plan, s.inner, cells / block_threads, least_rows);
    plan.groups = divide_up(plan.axis, plan.rows);
    spread(plan, s, cell_bytes, least_rows, gpu);
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

} // namespace wr::cuda
