// What the plan says a block stages fits the block: its threads, its shared memory, the gaps that its kernels count on.
// For every width, length and element size at which rows, columns or nodes are staged, and some beyond. And the
// division that those kernels use.
#include "check.h"
#include "cuda/reduce/plan.h"

#include <initializer_list>

using namespace wr::cuda;

namespace {

constexpr std::size_t most_threads = 256, vector_bytes = 16;
constexpr std::size_t places_of_vectors = 2048 / 8 * 9; // that the kernel of trees over vectors declares

const int some_kernel = 0;

// `whole_vectors`: whether the set has the kernel for rows of whole vectors.
ReduceKernels kernels_of(int element_bytes, bool whole_vectors) {
    ReduceKernels kernels{};
    kernels.staged = &some_kernel;
    kernels.staged_vectors = whole_vectors ? &some_kernel : nullptr;
    kernels.element_bytes = element_bytes;
    kernels.column_vector_bytes = static_cast<int>(vector_bytes);
    kernels.partial_bytes = 8;
    kernels.most_column_run = most_single_column_run;
    return kernels;
}

bool is_power_of_two(std::size_t n) { return (n & (n - 1)) == 0; }

bool fits(const StagedPlan &p, bool vectors, std::size_t inner, std::size_t element_bytes) {
    const std::size_t cell_bytes = vectors ? vector_bytes : element_bytes;
    const std::size_t cells = p.items_a_block * p.rows * inner;
    const std::size_t places = cells + (cells - 1) / p.unit * p.gap;
    bool good = p.items_a_block > 0 && p.threads <= most_threads && p.run <= most_run_elements;
    good = good && cells < 32768 && cells * cell_bytes <= p.threads * block_stage_bytes / most_threads;
    good = good && (vectors ? places <= places_of_vectors : places * cell_bytes + vector_bytes <= p.shared_bytes);
    good = good && p.shared_bytes <= 40 * 1024; // with what the kernel declares, no more than every GPU has
    // One run a thread, and few enough runs for one thread to end with.
    good = good && (p.runs == 1 || (p.items_a_block * inner * p.runs <= p.threads && p.runs <= most_run_elements));
    good = good && p.run * p.runs >= p.rows;
    // Vectors are stored whole between gaps.
    good = good && (vectors || p.gap == 0 ||
                    (p.gap * element_bytes % vector_bytes == 0 && p.unit * element_bytes % vector_bytes == 0));
    // Partial results are those of subtrees.
    good = good && (p.groups == 1 || is_power_of_two(p.rows));
    // Where runs end with gaps, no item ends within one.
    return good && (!p.runs_are_neighbours || p.items_a_block == 1 || p.rows % p.run == 0);
}

// Returns how many of the shapes are staged.
long check_shapes(int element_bytes, bool whole_vectors) {
    const ReduceKernels kernels = kernels_of(element_bytes, whole_vectors);
    const GpuFacts gpu{132, 8, true};
    long staged = 0;
    for (std::size_t inner = 1; inner <= 520; ++inner) {
        for (std::size_t axis = 1; axis <= 5000; axis = axis < 140 ? axis + 1 : axis * 17 / 16 + axis % 3) {
            for (const std::size_t outer : {1ul, 2ul, 3ul, 7ul, 100ul, 100000ul}) {
                for (const std::uintptr_t address : {0ul, 1ul}) {
                    const wr::Shape shape{outer,
                                          axis,
                                          inner,
                                          static_cast<std::ptrdiff_t>(axis * inner),
                                          static_cast<std::ptrdiff_t>(inner),
                                          1};
                    const ReducePlan plan = plan_reduction(shape, address, kernels, gpu);
                    const bool vectors = plan.algorithm == ReduceAlgorithm::staged_vectors;
                    if (vectors || plan.algorithm == ReduceAlgorithm::staged) {
                        CHECK(fits(plan.staged, vectors, plan.shape.inner, static_cast<std::size_t>(element_bytes)),
                              "[%zu][%zu][%zu] of %d bytes, address %zu", outer, axis, inner, element_bytes,
                              static_cast<std::size_t>(address));
                        ++staged;
                    }
                }
            }
        }
    }
    return staged;
}

// Rows of a state that blocks stage, by the thousand, of every length: within the shared memory of every GPU.
void check_nodes(std::size_t element_bytes, int multiprocessors) {
    long staged = 0;
    for (std::size_t axis = 1; axis <= 200; ++axis) {
        for (const std::size_t outer : {1ul << 14, 100003ul, 600000ul, 1ul << 22}) {
            const wr::Shape shape{outer, axis, 1, static_cast<std::ptrdiff_t>(axis), 1, 1};
            const NodePlan plan =
                plan_nodes_of_short_rows(shape, element_bytes, {12345, axis}, {multiprocessors, 8, true});
            if (plan.short_rows == ShortRows::staged) {
                const RowPlan &rows = plan.rows.rows;
                CHECK(rows.shared_bytes <= std::size_t{48} * 1024 && rows.rows_a_block > 0 &&
                          rows.shared_bytes >= rows.rows_a_block * axis * element_bytes,
                      "%zu rows of %zu elements of %zu bytes: %zu bytes for %zu rows", outer, axis, element_bytes,
                      rows.shared_bytes, static_cast<std::size_t>(rows.rows_a_block));
                ++staged;
            }
        }
    }
    CHECK(staged > 100, "too few nodes of %zu bytes are staged", element_bytes);
}

void check_division() {
    for (std::uint32_t divisor = 1; divisor <= 32768; ++divisor) {
        const SmallDivisor by = small_divisor(divisor);
        for (std::uint32_t multiple = divisor; multiple < 32768; multiple += divisor) {
            CHECK(by.divide(multiple) == multiple / divisor && by.divide(multiple - 1) == multiple / divisor - 1,
                  "%u by %u", multiple, divisor);
        }
        CHECK(by.divide(32767) == 32767 / divisor, "32767 by %u", divisor);
    }
}

} // namespace

int main() {
    for (const int element_bytes : {1, 2, 4, 8, 16}) {
        for (const bool whole_vectors : {false, true}) {
            CHECK(check_shapes(element_bytes, whole_vectors) > 10000, "too few shapes of %d bytes are staged",
                  element_bytes);
        }
    }
    for (const std::size_t element_bytes : {1ul, 2ul, 4ul, 8ul}) {
        check_nodes(element_bytes, 132);
        check_nodes(element_bytes, 20);
    }
    check_division();
    return check_report("staged_pieces_fit");
}
