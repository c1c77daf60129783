// How the nodes of a state's piece of rows are reduced side by side.
#include "cuda/common/gpu_facts.h"
#include "cuda/reduce/kernels.h"
#include "cuda/reduce/plan.h"
#include "cuda/reduce/policy.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

constexpr std::uint64_t block_warps = 8, most_tiles = 32;

// What a block has on every GPU, and what an unaligned piece takes of it beyond its rows: a vector at either end.
constexpr std::size_t most_stage_bytes = 49152, bytes_of_overhang = 2 * bytes_of_vector;

std::uint64_t elements_of_tile(const ReduceKernels &kernels) {
    return static_cast<std::uint64_t>(bytes_a_tile / kernels.element_bytes);
}

// Of elements that a block takes by itself.
bool fits_a_block(std::uint64_t elements, std::uint64_t tile) { return elements <= tile * block_warps * most_tiles; }

// Where the nodes of a piece cease to grow: at the multiple of the highest power of two that lies in it.
std::uint64_t turn_of(const Piece &piece) {
    return piece.first == 0 ? 0 : piece.end() & ~(std::bit_floor((piece.first - 1) ^ piece.end()) - 1);
}

// `tile`: elements of one.
void set_splits(NodePlan &plan, std::uint64_t tile) {
    RowNodes &nodes = plan.nodes;
    const bool of_blocks = plan.rows.rows.warps == static_cast<int>(block_warps);
    nodes.run = of_blocks ? tile * block_warps * static_cast<std::uint64_t>(plan.rows.rows.tiles) : 0;
    plan.rows.rows.splits = splits_of_nodes(nodes.growing, nodes.small()) + plan.runs.count +
                            splits_of_nodes(nodes.shrinking, nodes.small());
    nodes.first_shrinking = node_count(plan.piece) - static_cast<std::int32_t>(bits_of(nodes.shrinking));
}
static_assert(block_warps == nodes_of_split);

// Rows of which a warp takes one: longer ones the more there are.
bool suit_warps(const Shape &s, const GpuFacts &gpu) {
    const ReducePolicy &policy = reduce_policy(gpu);
    return s.axis <= policy.node_warp_axis && s.outer >= gpu.on_all(policy.node_warp_rows) &&
           gpu.on_all(s.axis) <= s.outer * policy.node_warp_elements;
}

// Short ones that are so many that blocks stage them.
bool suit_stages(const Shape &s, std::size_t element_bytes, const GpuFacts &gpu) {
    return s.axis <= most_staged_axis && s.axis * element_bytes * warp_threads <= block_stage_bytes &&
           s.outer >= gpu.on_all(reduce_policy(gpu).staged_node_rows);
}

// Of a row in a stage, with the gap behind it.
std::size_t bytes_of_staged_row(const Shape &s, std::size_t element_bytes) {
    return (s.axis + gap_of_staged_rows(s.axis, element_bytes)) * element_bytes;
}

// A whole number of warps' rows: all that a stage has room for, fewer where a few blocks could have everything.
std::size_t rows_of_stage(const Shape &s, std::size_t element_bytes, const GpuFacts &gpu) {
    const std::size_t room = std::min(block_stage_bytes / (s.axis * element_bytes),
                                      (most_stage_bytes - bytes_of_overhang) / bytes_of_staged_row(s, element_bytes));
    const std::size_t wanted = s.outer / gpu.on_all(reduce_policy(gpu).staged_node_blocks);
    return std::max<std::size_t>(std::min(room, wanted) / warp_threads, 1) * warp_threads;
}

} // namespace

NodePlan plan_lone_nodes(const Shape &s, const ReduceKernels &kernels, const Piece &piece) {
    NodePlan plan{{s, ReduceAlgorithm::rows, {}, 0}, {}, piece, {0, 0}, false};
    const std::uint64_t turn = turn_of(piece), tile = elements_of_tile(kernels);
    plan.nodes.growing = turn - piece.first;
    plan.nodes.shrinking = piece.end() - turn;
    const std::uint64_t longest = std::bit_floor(std::max(plan.nodes.growing, plan.nodes.shrinking));
    const std::uint64_t tiles = divide_up(longest, tile), warps = std::min(block_warps, std::bit_ceil(tiles));
    plan.rows.rows = {.aligned = kernels.unaligned_rows == nullptr,
                      .warps = static_cast<int>(warps),
                      .rows_a_block = block_warps / warps};
    plan.fits = fits_a_block(longest, tile);
    if (plan.fits) {
        plan.rows.rows.tiles = static_cast<int>(std::bit_ceil(divide_up(tiles, warps)));
    }
    set_splits(plan, tile);
    return plan;
}

NodePlan plan_nodes_of_short_rows(const Shape &s, std::size_t element_bytes, const Piece &piece, GpuFacts gpu) {
    NodePlan plan{{s, ReduceAlgorithm::rows, {}, 0}, {}, piece, {0, 0}, false};
    const std::uint64_t turn = turn_of(piece);
    plan.nodes.growing = turn - piece.first;
    plan.nodes.shrinking = piece.end() - turn;
    plan.nodes.first_shrinking = node_count(piece) - static_cast<std::int32_t>(bits_of(plan.nodes.shrinking));
    const std::uint64_t side = std::max(plan.nodes.growing, plan.nodes.shrinking);
    if (s.inner != 1 || s.axis_stride != 1) {
        return plan;
    }
    RowPlan &rows = plan.rows.rows;
    rows.rows_a_block = block_warps;
    if (suit_stages(s, element_bytes, gpu)) {
        plan.short_rows = ShortRows::staged;
        rows.rows_a_block = rows_of_stage(s, element_bytes, gpu);
        rows.tiles = static_cast<int>(rows.rows_a_block);
        rows.shared_bytes = rows.rows_a_block * bytes_of_staged_row(s, element_bytes) + bytes_of_overhang;
    } else if (side < elements_of_node_side && suit_warps(s, gpu)) {
        plan.short_rows = ShortRows::a_warp_each;
    }
    plan.fits = plan.short_rows != ShortRows::no;
    return plan;
}

NodePlan plan_nodes(const ReducePlan &whole, const ReduceKernels &kernels, const Piece &piece) {
    const bool of_rows = whole.algorithm == ReduceAlgorithm::rows || whole.algorithm == ReduceAlgorithm::warp_rows;
    if (whole.shape.axis_stride != 1 ||
        (!of_rows && (whole.algorithm == ReduceAlgorithm::columns || whole.shape.inner != 1))) {
        return {whole, {}, piece, {0, 0}, false};
    }
    if (whole.algorithm == ReduceAlgorithm::rows && whole.rows.splits > 1) {
        const std::uint64_t tile = elements_of_tile(kernels);
        const std::uint64_t run = tile * block_warps * static_cast<std::uint64_t>(whole.rows.tiles);
        const std::uint64_t first = divide_up(piece.first, run), end = piece.end() / run;
        if (first < end) {
            NodePlan plan{whole, {}, piece, {first, end - first}, false};
            plan.rows.rows.aligned = kernels.unaligned_rows == nullptr;
            plan.nodes.growing = first * run - piece.first;
            plan.nodes.shrinking = piece.end() - end * run;
            set_splits(plan, tile);
            plan.rows.partials = whole.shape.outer * whole.shape.inner * plan.rows.rows.splits;
            plan.fits = fits_a_block(plan.runs.count, bytes_a_tile / static_cast<std::uint64_t>(kernels.partial_bytes));
            return plan;
        }
    }
    return plan_lone_nodes(whole.shape, kernels, piece);
}

} // namespace wr::cuda
