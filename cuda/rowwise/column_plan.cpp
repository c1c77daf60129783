#include "cuda/rowwise/column_plan.h"

#include "cuda/common/gpu_facts.h"
#include "cuda/common/launch.h"
#include "cuda/common/vectors.h"
#include "cuda/rowwise/policy.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

// As many as the columns have, or, of long ones, as leave the fewest that are not there.
std::size_t rows_of_thread(std::size_t axis, const ColumnTileThreads &threads) {
    const auto least = static_cast<std::size_t>(threads.least_rows), most = static_cast<std::size_t>(threads.most_rows);
    const std::size_t wanted = std::clamp(std::bit_ceil(axis), least, most);
    const auto held = [&](std::size_t of) { return divide_up(axis, of) * of; };
    const std::size_t half = wanted / 2;
    return half >= least && held(wanted) > axis + axis / 4 && held(half) < held(wanted) ? half : wanted;
}

// Threads side by side: as many as make blocks of a fair size, and more where a row's piece would be too narrow.
std::size_t lanes_of_tile(std::size_t vectors, std::size_t runs, std::size_t least, std::size_t threads) {
    const std::size_t fair = std::bit_floor(std::max<std::size_t>(threads / runs, 1));
    return std::min(std::bit_ceil(vectors), std::max(fair, least));
}

struct Division {
    std::size_t lanes, runs, cluster_blocks; // no lanes: none
};

// Blocks of so many threads share a tile, each with a power of two of runs; no lanes: they would be too many.
Division cluster_of(std::size_t threads, std::size_t lanes, std::size_t runs, std::size_t most_cluster) {
    const std::size_t own = threads / lanes, blocks = own == 0 ? 0 : divide_up(runs, own);
    return own != 0 && blocks <= most_cluster ? Division{lanes, own, blocks} : Division{0, 0, 0};
}

std::size_t runs_without_rows(const Division &cut, std::size_t runs) { return cut.runs * cut.cluster_blocks - runs; }

// Of blocks of so many threads or fewer: of small ones where these leave fewer threads without rows.
Division smallest_cluster_of(std::size_t threads, std::size_t lanes, std::size_t runs, std::size_t most_cluster,
                             std::size_t usual) {
    const Division small = cluster_of(usual / 2, lanes, runs, most_cluster);
    for (std::size_t own = usual; own <= threads; own *= 2) {
        const Division large = cluster_of(own, lanes, runs, most_cluster);
        if (large.lanes != 0) {
            const bool is_fuller =
                small.lanes != 0 && runs_without_rows(small, runs) + runs / 16 < runs_without_rows(large, runs);
            return is_fuller ? small : large;
        }
    }
    return {0, 0, 0};
}

// Tiles that are more than a block of a fair size are a cluster's: of half as many threads side by side where its
// blocks would fill a multiprocessor else.
Division cut(std::size_t vectors, std::size_t runs, std::size_t least_lanes, const ColumnTileThreads &wanted,
             const GpuFacts &gpu) {
    const auto most_cluster = static_cast<std::size_t>(std::max(gpu.cluster_blocks, 1));
    const std::size_t usual = rowwise_policy(gpu).column_tile_cluster_threads;
    const std::size_t lanes = lanes_of_tile(vectors, runs, least_lanes, wanted.fair);
    if (lanes * runs <= wanted.lone) {
        return {lanes, runs, 1};
    }
    for (const std::size_t threads : {std::bit_floor(wanted.lone), wanted.most}) {
        for (const std::size_t across : {lanes, lanes / 2}) {
            const Division shared =
                across == 0 ? Division{0, 0, 0} : smallest_cluster_of(threads, across, runs, most_cluster, usual);
            if (shared.lanes != 0) {
                return shared;
            }
        }
    }
    const std::size_t fitting = std::bit_floor(wanted.most / std::min(runs, wanted.most));
    return runs <= wanted.most ? Division{std::min(lanes, fitting), runs, 1} : Division{0, 0, 0};
}

} // namespace

bool is_column_tile(const Shape &s, std::size_t most, bool whole, const GpuFacts &gpu) {
    return s.inner > (whole ? 1 : rowwise_policy(gpu).column_tile_single_columns) && s.axis > 0 && s.axis <= most;
}

ColumnTilePlan plan_column_tiles(const Shape &s, std::size_t element_bytes, const ColumnTileThreads &wanted, bool whole,
                                 const GpuFacts &gpu) {
    const std::size_t vectors = divide_up(s.inner, bytes_of_vector / element_bytes),
                      own = rows_of_thread(s.axis, wanted);
    const Division made = cut(vectors, divide_up(s.axis, own),
                              whole ? wanted.lanes : rowwise_policy(gpu).column_tile_single_lanes, wanted, gpu);
    const std::size_t across = made.lanes == 0 ? 0 : divide_up(vectors, made.lanes);
    if (across == 0 || s.outer > most_blocks / made.cluster_blocks / across) {
        return {};
    }
    const std::size_t count = s.outer * across, threads = made.lanes * made.runs;
    std::size_t a_block = made.cluster_blocks > 1 ? 1 : std::clamp<std::size_t>(wanted.fair / threads, 1, count);
    if (made.runs == 1) { // threads that have their columns to themselves wait for no others: none is without a tile
        const std::size_t of_warp = std::max<std::size_t>(warp_threads / threads, 1);
        a_block = divide_up(a_block, of_warp) * of_warp;
    }
    return {{static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(across), std::countr_zero(made.lanes),
             static_cast<std::int32_t>(made.runs), static_cast<std::int32_t>(a_block), static_cast<std::int32_t>(own),
             static_cast<std::int32_t>(made.cluster_blocks)},
            static_cast<int>(divide_up(a_block * threads, warp_threads) * warp_threads)};
}

ColumnTileMemory::ColumnTileMemory(const ColumnTilePlan &plan, std::size_t each, std::size_t value_bytes,
                                   std::size_t column_bytes) {
    const ColumnTiles &t = plan.tiles;
    const std::size_t columns = each * (static_cast<std::size_t>(t.a_block) << t.log_lanes);
    const auto runs = static_cast<std::size_t>(t.runs);
    const std::size_t folded = divide_up(runs, column_tile_fold) * columns;
    const std::size_t values = each * static_cast<std::size_t>(plan.threads) + folded;
    const std::size_t sent = t.cluster_blocks > 1 ? column_tile_exchanges * columns : 0;
    columns_at = static_cast<std::uint32_t>(divide_up(values * value_bytes, bytes_of_vector) * bytes_of_vector);
    sent_at =
        columns_at + static_cast<std::uint32_t>(divide_up(columns * column_bytes, bytes_of_vector) * bytes_of_vector);
    bytes = sent_at + static_cast<std::uint32_t>(sent * static_cast<std::size_t>(t.cluster_blocks) * sizeof(double));
}

Launch column_tile_launch(const void *kernel, const ColumnTilePlan &plan, const ColumnTileMemory &memory,
                          const GpuFacts &gpu) {
    Launch how{kernel, plan.blocks(), plan.threads};
    how.cluster_blocks = plan.tiles.cluster_blocks;
    how.shared_bytes = memory.bytes;
    how.dependent = gpu.dependent_launch;
    return how;
}

namespace {

struct WalkedTiles {
    std::size_t across, down, side;
};

WalkedTiles cut_downwards(const Shape &s, std::size_t element_bytes) {
    const std::size_t vectors = divide_up(s.inner, bytes_of_vector / element_bytes);
    const std::size_t side = std::min(std::bit_ceil(vectors), warp_threads);
    return {divide_up(vectors, side), divide_up(divide_up(s.axis, softmax_block), warp_threads / side), side};
}

} // namespace

TwoPassColumnTiles cut_into_two_pass_column_tiles(const Shape &shape, std::size_t element_bytes) {
    const WalkedTiles made = cut_downwards(shape, element_bytes);
    return {static_cast<std::uint32_t>(made.across), static_cast<std::uint32_t>(made.down),
            std::countr_zero(made.side)};
}

std::size_t count_two_pass_column_tiles(const Shape &shape, std::size_t element_bytes) {
    const WalkedTiles made = cut_downwards(shape, element_bytes);
    const bool fits = made.across != 0 && made.down != 0 && made.down <= most_blocks / made.across &&
                      shape.outer <= most_blocks / (made.across * made.down);
    return fits ? shape.outer * made.across * made.down : 0;
}

} // namespace wr::cuda
