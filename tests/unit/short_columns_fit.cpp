// How short columns are cut into tiles holds all of their elements in what blocks and clusters have room for: at every
// height that is supported and beyond, for few columns and many, on GPUs with clusters and without.
#include "check.h"
#include "cuda/reduce/plan.h"
#include "cuda/rowwise/column_plan.h"

#include <algorithm>
#include <initializer_list>

using namespace wr;
using namespace wr::cuda;

namespace {

constexpr int warp = 32;
constexpr std::size_t bytes_of_a_value = 16, bytes_of_a_column = 12, bytes_of_a_block = 227 * 1024;

struct Kind {
    std::size_t element_bytes;
    ColumnTileThreads threads;
    bool whole;
};

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

bool holds_all(const Shape &s, const Kind &kind, const ColumnTiles &t) {
    const std::size_t each = 16 / kind.element_bytes, columns = each << t.log_lanes;
    const auto rows = static_cast<std::size_t>(t.runs) * static_cast<std::size_t>(t.rows);
    const auto blocks = static_cast<std::size_t>(t.cluster_blocks);
    return rows * blocks >= s.axis && rows * (blocks - 1) < s.axis && t.across * columns >= s.inner &&
           (t.across - 1) * columns < s.inner && t.count == s.outer * t.across;
}

bool is_sound(const ColumnTilePlan &plan, const Kind &kind, int most_cluster) {
    const ColumnTiles &t = plan.tiles;
    const int lanes = 1 << t.log_lanes, used = (t.a_block * t.runs) << t.log_lanes;
    bool sound = t.rows >= kind.threads.least_rows && t.rows <= kind.threads.most_rows && is_power_of_two(t.rows);
    sound = sound && used <= plan.threads && plan.threads < used + warp && plan.threads % warp == 0;
    sound = sound && static_cast<std::size_t>(plan.threads) <= kind.threads.most && lanes > 0 && t.a_block > 0;
    // Blocks of a cluster take subtrees; threads that have columns to themselves leave none to threads without rows.
    sound = sound && t.cluster_blocks >= 1 && t.cluster_blocks <= std::max(most_cluster, 1);
    sound = sound && (t.cluster_blocks == 1 || (t.a_block == 1 && is_power_of_two(t.runs)));
    return sound && (t.runs > 1 || used == plan.threads);
}

// Values that threads leave and what they are folded to lie in front of what is kept of columns, and that in front of
// what blocks send.
bool has_room(const ColumnTilePlan &plan, const Kind &kind) {
    const std::size_t each = 16 / kind.element_bytes;
    const ColumnTileMemory memory(plan, each, bytes_of_a_value, bytes_of_a_column);
    const ColumnTiles &t = plan.tiles;
    const std::size_t columns = each * (static_cast<std::size_t>(t.a_block) << t.log_lanes);
    const std::size_t folded = (static_cast<std::size_t>(t.runs) + 7) / 8 * columns;
    const std::size_t sent = t.cluster_blocks > 1 ? 3 * columns * static_cast<std::size_t>(t.cluster_blocks) * 8 : 0;
    return memory.columns_at >= (each * static_cast<std::size_t>(plan.threads) + folded) * bytes_of_a_value &&
           memory.sent_at >= memory.columns_at + columns * bytes_of_a_column && memory.bytes >= memory.sent_at + sent &&
           memory.bytes <= bytes_of_a_block;
}

void check(const Shape &s, const Kind &kind, const GpuFacts &gpu, bool must_be_served) {
    const ColumnTilePlan plan = plan_column_tiles(s, kind.element_bytes, kind.threads, kind.whole, gpu);
    if (plan.threads == 0) {
        CHECK(!must_be_served, "[%zu][%zu][%zu] of %zu bytes, %zu threads at most, clusters of %d: not supported",
              s.outer, s.axis, s.inner, kind.element_bytes, kind.threads.most, gpu.cluster_blocks);
        return;
    }
    CHECK(
        holds_all(s, kind, plan.tiles) && is_sound(plan, kind, gpu.cluster_blocks) && has_room(plan, kind),
        "[%zu][%zu][%zu] of %zu bytes, %d to %d rows: %d lanes, %d runs of %d, %d tiles a block of %d, clusters of %d",
        s.outer, s.axis, s.inner, kind.element_bytes, kind.threads.least_rows, kind.threads.most_rows,
        1 << plan.tiles.log_lanes, plan.tiles.runs, plan.tiles.rows, plan.tiles.a_block, plan.threads,
        plan.tiles.cluster_blocks);
}

} // namespace

int main() {
    const GpuFacts with_clusters{132, 8, true}, without{108, 0, false};
    const Kind kinds[] = {{4, {4, 8, 128, 512, 1024, 16}, true}, {4, {4, 8, 128, 384, 1024, 16}, true},
                          {4, {4, 8, 128, 384, 768, 8}, true},   {4, {4, 8, 128, 512, 1024, 16}, false},
                          {4, {4, 8, 128, 384, 768, 8}, false},  {2, {2, 4, 128, 512, 1024, 8}, true},
                          {2, {2, 4, 128, 512, 1024, 8}, false}, {4, {4, 4, 256, 512, 1024, 16}, true},
                          {2, {4, 4, 256, 512, 1024, 8}, true},  {2, {4, 4, 256, 512, 1024, 8}, false}};
    for (const Kind &kind : kinds) {
        for (std::size_t axis = 1; axis <= 6000; axis += axis < 1100 ? 1 : 37) {
            for (const std::size_t inner : {2, 3, 8, 33, 64, 1000, 50176}) {
                for (const std::size_t outer : {1, 5, 100000}) {
                    const Shape s{outer, axis, inner, 0, 0, 1};
                    // Of more there may be too many blocks: other kernels have them.
                    const bool must_be_served = axis <= 1024 && outer * axis * inner <= std::size_t{1} << 40;
                    check(s, kind, with_clusters, must_be_served);
                    check(s, kind, without, must_be_served);
                }
            }
        }
    }
    return check_report("short_columns_fit");
}
