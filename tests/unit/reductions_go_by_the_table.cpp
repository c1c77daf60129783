// Which algorithm a reduction gets, shape by shape, and whether it is done in one launch. The first rule that takes a
// shape has it (cuda/reduce/plan.cpp).
#include "check.h"
#include "cuda/reduce/plan.h"

#include <initializer_list>

using namespace wr::cuda;

namespace {

const int some_kernel = 0;

// A set that has a kernel for every algorithm, as sums of floats have.
ReduceKernels full_set(int element_bytes) {
    ReduceKernels kernels{};
    kernels.aligned_rows = kernels.unaligned_rows = kernels.strided_rows = &some_kernel;
    kernels.packed_rows = kernels.three_vector_rows = kernels.cluster_rows = &some_kernel;
    kernels.columns = kernels.single_columns = kernels.staged = kernels.staged_vectors = &some_kernel;
    kernels.element_bytes = element_bytes;
    kernels.column_vector_bytes = 16;
    kernels.triples_a_thread = 1;
    kernels.most_column_run = 64;
    kernels.partial_bytes = 4;
    return kernels;
}

// One that wants to know where an element stands, and has none but the general ones.
ReduceKernels set_of_places(int element_bytes) {
    ReduceKernels kernels = full_set(element_bytes);
    kernels.packed_rows = kernels.three_vector_rows = kernels.cluster_rows = kernels.staged_vectors = nullptr;
    kernels.finds_place = kernels.order_free = kernels.rows_run_as_clusters = true;
    return kernels;
}

constexpr GpuFacts h200{132, 8, true, 227 * 1024, 0, 16, 9};
constexpr GpuFacts without_clusters{108, 0, false};

wr::Shape contiguous(std::size_t outer, std::size_t axis, std::size_t inner) {
    return {outer, axis, inner, static_cast<std::ptrdiff_t>(axis * inner), static_cast<std::ptrdiff_t>(inner), 1};
}

struct Expected {
    std::size_t outer, axis, inner;
    ReduceAlgorithm algorithm;
    bool one_launch;
};

void check(const char *name, const ReduceKernels &kernels, const GpuFacts &gpu, std::uintptr_t address,
           std::initializer_list<Expected> table) {
    for (const Expected &e : table) {
        const ReducePlan plan = plan_reduction(contiguous(e.outer, e.axis, e.inner), address, kernels, gpu);
        CHECK(plan.algorithm == e.algorithm, "%s [%zu][%zu][%zu]: algorithm %d instead of %d", name, e.outer, e.axis,
              e.inner, static_cast<int>(plan.algorithm), static_cast<int>(e.algorithm));
        CHECK((plan.partials == 0) == e.one_launch, "%s [%zu][%zu][%zu]: %zu partial results", name, e.outer, e.axis,
              e.inner, plan.partials);
    }
}

// Whoever has few results to give spreads them over the GPU.
void check_small_arrays_are_spread() {
    const auto blocks = [](std::size_t rows, std::size_t axis) {
        return plan_reduction(contiguous(rows, axis, 1), 0, set_of_places(4), h200).staged.blocks;
    };
    CHECK(blocks(16384, 8) >= 132, "places of 16384 rows of 8: %zu blocks", blocks(16384, 8));
    CHECK(blocks(1057, 99) >= 132, "places of 1057 rows of 99: %zu blocks", blocks(1057, 99));
    const ReducePlan rows = plan_reduction(contiguous(64, 4096, 1), 0, full_set(4), h200);
    CHECK(rows.rows.rows_a_block == 1, "64 rows of 4096: %zu a block", rows.rows.rows_a_block);
    const ReducePlan packed = plan_reduction(contiguous(4096, 64, 1), 0, full_set(4), h200);
    CHECK(packed.rows.block_warps <= 2, "4096 rows of 64: blocks of %d warps", packed.rows.block_warps);
}

// Blocks of 8 warps, two tiles each, rather than of 16 with one, whose clusters do not all find room at a time; pairs
// of 16 where rows are too many for more.
void check_clusters_find_room() {
    const auto check = [](const ReduceKernels &kernels, std::size_t rows, std::size_t axis, std::size_t blocks,
                          int warps) {
        const RowPlan plan = plan_reduction(contiguous(rows, axis, 1), 0, kernels, h200).rows;
        CHECK(plan.splits == blocks && plan.block_warps == warps, "%zu rows of %zu: %zu blocks of %d warps", rows, axis,
              plan.splits, plan.block_warps);
        const std::size_t tile = 4096 / static_cast<std::size_t>(kernels.element_bytes);
        CHECK(plan.splits * static_cast<std::size_t>(plan.block_warps * plan.tiles) * tile >= axis,
              "%zu rows of %zu: %d tiles a warp", rows, axis, plan.tiles);
    };
    check(full_set(4), 16, 128256, 8, 8);
    check(full_set(4), 16, 129 * 1024, 8, 16);
    check(full_set(4), 8, 128256, 16, 8);
    check(full_set(4), 64, 32000, 2, 16);
    check(full_set(4), 33, 32000, 4, 8);
    check(full_set(2), 64, 128256, 2, 16);
    check(set_of_places(4), 64, 32000, 2, 8);
}

// Trees over vectors are staged of longer rows where elements are added up than where squares are.
void check_squares_are_staged_by_vectors() {
    ReduceKernels squares = full_set(2);
    squares.cluster_rows = nullptr;
    squares.least_packed_bytes = 128;
    squares.adds_norms = true;
    const auto algorithm = [](const ReduceKernels &kernels, std::size_t axis) {
        return plan_reduction(contiguous(16384, axis, 1), 0, kernels, h200).algorithm;
    };
    CHECK(algorithm(squares, 640) == ReduceAlgorithm::staged_vectors, "squares of rows of 640");
    CHECK(algorithm(squares, 1016) == ReduceAlgorithm::staged_vectors, "squares of rows of 1016");
    CHECK(algorithm(squares, 1024) == ReduceAlgorithm::packed_rows, "squares of rows of 1024");
    CHECK(algorithm(squares, 64) == ReduceAlgorithm::packed_rows, "squares of rows of 64");
    CHECK(algorithm(squares, 32) == ReduceAlgorithm::staged_vectors, "squares of rows of 32");
    CHECK(algorithm(squares, 1032) != ReduceAlgorithm::staged_vectors, "squares of rows of 1032");
    CHECK(algorithm(squares, 641) == ReduceAlgorithm::staged, "squares of rows of 641");
    CHECK(algorithm(full_set(2), 1032) == ReduceAlgorithm::staged_vectors, "sums of rows of 1032");
}

// Tiles go round the warps of a block where several blocks would leave parts of a row else, and the rows are not few.
void check_tiles_are_dealt() {
    ReduceKernels sums = full_set(2);
    sums.deals_tiles = true;
    const auto plan = [](const ReduceKernels &kernels, std::size_t rows, std::size_t axis, const GpuFacts &gpu) {
        return plan_reduction(contiguous(rows, axis, 1), 0, kernels, gpu);
    };
    const ReducePlan dealt = plan(sums, 1024, 50257, h200);
    CHECK(dealt.algorithm == ReduceAlgorithm::dealt_rows && dealt.rows.dealt == 3 && dealt.rows.block_warps == 3 &&
              dealt.rows.tiles == 9 && dealt.partials == 0,
          "1024 rows of 25 tiles: %d turns of %d warps", dealt.rows.tiles, dealt.rows.dealt);
    CHECK(plan(sums, 528, 50257, h200).algorithm == ReduceAlgorithm::dealt_rows, "528 rows of 25 tiles");
    CHECK(plan(sums, 527, 50257, h200).algorithm == ReduceAlgorithm::rows, "527 rows of 25 tiles");
    CHECK(plan(sums, 4096, 50257, h200).algorithm == ReduceAlgorithm::rows, "4096 rows of 25 tiles");
    CHECK(plan(sums, 1024, 64 * 2048, h200).algorithm == ReduceAlgorithm::dealt_rows, "rows of 64 tiles");
    CHECK(plan(sums, 1024, 64 * 2048 + 1, h200).algorithm == ReduceAlgorithm::rows, "rows of 65 tiles");
    CHECK(plan(full_set(2), 1024, 50257, h200).algorithm == ReduceAlgorithm::rows, "a set that deals none");
    CHECK(plan(sums, 1024, 50257, without_clusters).algorithm == ReduceAlgorithm::rows, "a GPU of unknown room");
}

// Threads that share a column have equal shares where no order is to be kept, and else subtrees.
void check_columns_are_shared() {
    const auto run = [](const ReduceKernels &kernels) {
        return plan_reduction(contiguous(16, 150, 65536), 0, kernels, h200).columns.run;
    };
    CHECK(run(set_of_places(4)) == 40, "places of columns of 150: runs of %d", run(set_of_places(4)));
    CHECK(run(full_set(4)) == 32, "sums of columns of 150: runs of %d", run(full_set(4)));
}

// Sums of columns by threads that have few rows on their way where all of their blocks are there at a time, or where no
// thread has more; by others where these fill the GPU; and all of a middling axis by one.
void check_columns_of_sums_have_few_or_many_rows() {
    const auto plan_of = [](std::size_t outer, std::size_t axis, std::size_t inner, int element_bytes) {
        ReduceKernels kernels = full_set(element_bytes);
        kernels.columns_of_few_rows = &some_kernel;
        kernels.most_column_run = element_bytes == 2 ? 32 : 128;
        kernels.longest_column_run = element_bytes == 2 ? long_column_run : 128;
        const ColumnPlan plan = plan_reduction(contiguous(outer, axis, inner), 0, kernels, h200).columns;
        CHECK(!plan.few_rows || plan.run <= few_column_rows, "%zu x %zu x %zu: runs of %d", outer, axis, inner,
              plan.run);
        CHECK(plan.few_rows || plan.run > least_column_run, "%zu x %zu x %zu: runs of %d by many", outer, axis, inner,
              plan.run);
        return plan;
    };
    const auto check = [&](std::size_t outer, std::size_t axis, std::size_t inner, int element_bytes, bool few) {
        CHECK(plan_of(outer, axis, inner, element_bytes).few_rows == few, "%zu x %zu x %zu of %d bytes: not %s rows",
              outer, axis, inner, element_bytes, few ? "few" : "many");
    };
    check(1, 1024, 4096, 2, true);
    check(1, 1024, 2048, 4, true);
    check(64, 128, 768, 4, true);
    check(1, 1024, 4096, 4, true);
    check(1, 1024, 8192, 2, true);
    check(1, 8192, 4096, 2, false);
    check(1, 16384, 4096, 4, false);
    check(32, 512, 1024, 2, false);
    check(1, 100, 65536, 2, false);
    CHECK(plan_of(256, 49, 2048, 2).run == long_column_run, "middle axis of 49: runs of %d",
          plan_of(256, 49, 2048, 2).run);
    CHECK(plan_of(256, 65, 2048, 2).run <= 32, "middle axis of 65: runs of %d", plan_of(256, 65, 2048, 2).run);
    // Threads that would have no row are left out of a block, where it has no other axis for them.
    CHECK(plan_of(16, 150, 65536, 2).threads_down == 5, "150 rows of 32: %d threads",
          plan_of(16, 150, 65536, 2).threads_down);
    CHECK(plan_of(1, 8192, 4096, 2).threads_down % 8 == 0, "8192 rows: %d threads",
          plan_of(1, 8192, 4096, 2).threads_down);
    for (std::size_t axis = 256; axis <= 16384; axis *= 2) {
        for (std::size_t inner = 512; inner <= 8192; inner *= 2) {
            plan_of(1, axis, inner, 2);
            plan_of(1, axis, inner, 4);
        }
    }
}

// A thread has all rows of several vectors where the axis is short, as long as there are blocks enough.
void check_short_axes_are_taken_by_several_vectors() {
    const auto vectors = [](std::size_t outer, std::size_t axis, std::size_t inner, std::uintptr_t address) {
        ReduceKernels kernels = full_set(4);
        kernels.short_columns = &some_kernel;
        const ColumnPlan plan = plan_reduction(contiguous(outer, axis, inner), address, kernels, h200).columns;
        CHECK(plan.blocks * static_cast<std::size_t>(plan.threads_across * plan.vectors_a_thread) * 4 *
                      plan.outer_a_block >=
                  outer * inner,
              "%zu x %zu x %zu: blocks for all columns", outer, axis, inner);
        return plan.vectors_a_thread;
    };
    CHECK(vectors(1, 2, std::size_t{1} << 26, 0) == 4, "2 rows: %d vectors", vectors(1, 2, std::size_t{1} << 26, 0));
    CHECK(vectors(256, 3, 50176, 0) == 2, "3 rows: %d vectors", vectors(256, 3, 50176, 0));
    CHECK(vectors(256, 4, 50176, 0) == 2, "4 rows: %d vectors", vectors(256, 4, 50176, 0));
    CHECK(vectors(256, 5, 50176, 0) == 1, "5 rows: %d vectors", vectors(256, 5, 50176, 0));
    CHECK(vectors(1, 3, 4096, 0) == 1, "3 rows, few columns: %d vectors", vectors(1, 3, 4096, 0));
    CHECK(vectors(256, 3, 50176, 4) == 1, "3 rows off the boundaries: %d vectors", vectors(256, 3, 50176, 4));
}

} // namespace

int main() {
    using A = ReduceAlgorithm;
    constexpr std::size_t k = 1024, m = k * k;
    check("f32", full_set(4), h200, 0,
          {{1, 1, 1, A::rows, true},
           {1, 8 * k, 1, A::rows, true},
           {1, 8 * k + 1, 1, A::cluster_rows, true},
           {1, 512 * k, 1, A::cluster_rows, true},
           {1, m, 1, A::rows, false},
           {8, 64 * k, 1, A::cluster_rows, true},
           {64, 64 * k, 1, A::cluster_rows, true},
           {66, 50257, 1, A::cluster_rows, true},
           {64, 64 * k + 1, 1, A::rows, false},
           {67, 32000, 1, A::rows, false},
           {33, 50257, 1, A::rows, false},
           {1000, 64 * k, 1, A::rows, false},
           {2, 1, 1, A::staged, true},
           {64, 8, 1, A::rows, true},
           {128, 8, 1, A::packed_rows, true},
           {100, 32, 1, A::rows, true},
           {2000, 32, 1, A::packed_rows, true},
           {m, 512, 1, A::packed_rows, true},
           {m, 1024, 1, A::rows, true},
           {2, 3, 1, A::three_vector_rows, true},
           {m, 12, 1, A::three_vector_rows, true},
           {m, 24, 1, A::staged_vectors, true},
           {100, 100, 1, A::rows, true},
           {1056, 100, 1, A::rows, true},
           {1057, 100, 1, A::staged_vectors, true},
           {100, 101, 1, A::staged, true},
           {8192, 1000, 1, A::staged_vectors, true},
           {8192, 3000, 1, A::warp_rows, true},
           {8192, 4096, 1, A::rows, true},
           {1, 1024, 8, A::staged, true},
           {1, 16384, 8, A::staged, false},
           {1, 1, 8, A::columns, true},
           {1, 1024, k, A::columns, true},
           {1, 16384, 4096, A::columns, false},
           {32, 512, k, A::columns, true},
           {100, 49, 2048, A::columns, true},
           {3, 100, 150, A::columns, true}});
    check("f32 off the boundaries", full_set(4), h200, 4,
          {{64, 8, 1, A::staged, true},
           {2, 3, 1, A::staged, true},
           {100, 100, 1, A::staged, true},
           {1000, 1000, 1, A::rows, true},
           {1056, 1000, 1, A::rows, true},
           {1057, 1000, 1, A::staged, true},
           {8192, 1024, 1, A::staged, true},
           {8192, 1025, 1, A::warp_rows, true},
           {1, 100, 80, A::staged, true},
           {1, 100, 200, A::columns, true}});
    check("places of f32", set_of_places(4), h200, 0,
          {{64, 8, 1, A::rows, true},
           {16384, 8, 1, A::staged, true},
           {16384, 128, 1, A::staged, true},
           {16384, 257, 1, A::staged, true},
           {16384, 512, 1, A::rows, true},
           {1, 128 * k, 1, A::cluster_rows, true},
           {1, 128 * k + 1, 1, A::rows, false},
           {64, 50257, 1, A::cluster_rows, true},
           {1, 1024, k, A::columns, true}});
    check("f32 without clusters", full_set(4), without_clusters, 0,
          {{1, 8 * k + 1, 1, A::rows, false},
           {1, 1024, k, A::columns, false},
           {32, 512, k, A::columns, true},
           {64, 8, 1, A::rows, true}});
    check_small_arrays_are_spread();
    check_clusters_find_room();
    check_tiles_are_dealt();
    check_squares_are_staged_by_vectors();
    check_columns_are_shared();
    check_columns_of_sums_have_few_or_many_rows();
    check_short_axes_are_taken_by_several_vectors();
    return check_report("reductions_go_by_the_table");
}
