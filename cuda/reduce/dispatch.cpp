// Puts a reduction on a stream: one stage after the other, until one finishes into the output.
#include "cuda/common/fill_words.h"
#include "cuda/common/gpu_facts.h"
#include "cuda/common/launch.h"
#include "cuda/gpu.h"
#include "cuda/reduce/accumulators.h"
#include "cuda/reduce/kernels.h"
#include "cuda/reduce/plan.h"
#include "numerics/operator_table.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

const ReduceKernels *find_reduce_kernels(const Reduction &what) {
    return with_operator(what, [](auto row) -> const ReduceKernels * {
        using Row = decltype(row);
        return &reduce_kernels<typename Row::Element, typename Row::Operator>();
    });
}

namespace {

constexpr std::size_t partial_alignment = 16;

// What a workspace query answers for: the more multiprocessors, the more splits, and without clusters more stages.
constexpr GpuFacts most_demanding_gpu{every_gpu, 0, false};

struct Stage {
    const ReduceKernels *kernels;
    ReducePlan plan;
    const void *input;
    Mapping mapping;
    Finish finish;
    bool to_accumulators; // the last stage leaves them too
    RowNodes nodes;
    const void *node_rows; // the kernel that takes all nodes of a row at once, or nullptr
};

// Launches the kernel for `items` items, `items_a_block` to each block of one direction of the grid, in as many parts
// as that direction's limit makes necessary; `first` is the field of the arguments that says where a part begins.
cudaError_t launch_in_parts(Launch how, std::size_t Launch::*direction, std::size_t items_a_block, std::size_t items,
                            std::size_t &first, void *arguments, cudaStream_t stream) {
    const std::size_t limit = direction == &Launch::blocks ? most_blocks : most_block_rows;
    const std::size_t items_a_launch = limit * items_a_block;
    cudaError_t error = cudaSuccess;
    for (first = 0; error == cudaSuccess && first < items; first += items_a_launch) {
        how.*direction = divide_up(std::min(items - first, items_a_launch), items_a_block);
        error = launch(how, arguments, stream);
    }
    return error;
}

const void *kernel_of(const ReduceKernels &kernels, const ReducePlan &plan) {
    switch (plan.algorithm) {
    case ReduceAlgorithm::packed_rows:
        return kernels.packed_rows;
    case ReduceAlgorithm::three_vector_rows:
        return kernels.three_vector_rows;
    case ReduceAlgorithm::staged_vectors:
        return kernels.staged_vectors;
    case ReduceAlgorithm::staged:
        return kernels.staged;
    case ReduceAlgorithm::columns:
        return !plan.columns.vectors               ? kernels.single_columns
               : plan.columns.vectors_a_thread > 1 ? kernels.short_columns
               : plan.columns.few_rows             ? kernels.columns_of_few_rows
                                                   : kernels.columns;
    case ReduceAlgorithm::cluster_rows:
        if (kernels.cluster_rows != nullptr) {
            return kernels.cluster_rows;
        }
        break;
    case ReduceAlgorithm::warp_rows:
    case ReduceAlgorithm::dealt_rows:
    case ReduceAlgorithm::rows:
        break;
    }
    if (!plan.rows.vectors) {
        return kernels.strided_rows;
    }
    return plan.rows.aligned ? kernels.aligned_rows : kernels.unaligned_rows;
}

// Where accumulators are what is wanted, algorithms that can do nothing but finish are left out.
ReducePlan plan_stage(const Shape &shape, std::uintptr_t address, const ReduceKernels &kernels, GpuFacts gpu,
                      bool to_accumulators) {
    if (!to_accumulators) {
        return plan_reduction(shape, address, kernels, gpu);
    }
    ReduceKernels some = kernels;
    some.deals_tiles = false;
    some.packed_rows = some.three_vector_rows = some.cluster_rows = some.short_columns = nullptr;
    gpu.cluster_blocks = gpu.wide_cluster_blocks = 0;
    return plan_reduction(shape, address, some, gpu);
}

Destination destination_of(const Stage &stage) {
    return stage.plan.partials == 0 && !stage.to_accumulators ? Destination::output : Destination::partials;
}

// Where the GPU cannot have so many blocks in a cluster, half of them take twice the tiles: the same subtrees. Kernels
// made for clusters have these side by side, others below each other.
cudaError_t launch_cluster(RowArguments &a, Launch how, bool side_by_side, cudaStream_t stream, GpuFacts gpu) {
    const auto set_blocks = [&](std::size_t blocks) {
        a.splits = blocks;
        how.blocks = side_by_side ? a.rows * blocks : blocks;
        how.block_rows = side_by_side ? 1 : a.rows;
        how.cluster_blocks = static_cast<int>(blocks);
    };
    set_blocks(a.splits);
    if (how.cluster_blocks > gpu.cluster_blocks) {
        int resident = 0;
        const cudaError_t error = prepare_clusters(how, gpu, &resident);
        if (error != cudaSuccess) {
            return error;
        }
        if (resident == 0) {
            a.tiles *= 2;
            set_blocks(a.splits / 2);
        }
    }
    return launch(how, &a, stream);
}

cudaError_t launch_rows(const Stage &stage, void *output, cudaStream_t stream, GpuFacts gpu) {
    const Shape &s = stage.plan.shape;
    const RowPlan &plan = stage.plan.rows;
    RowArguments a{};
    a.input = stage.input;
    a.output = output;
    a.rows = s.outer * s.inner;
    a.axis = s.axis;
    a.inner = s.inner;
    a.outer_stride = s.outer_stride;
    a.axis_stride = s.axis_stride;
    a.inner_stride = s.inner_stride;
    a.splits = plan.splits;
    a.warps_log2 = std::countr_zero(static_cast<unsigned>(plan.warps));
    a.tiles = plan.tiles;
    a.dealt = plan.dealt;
    a.destination = destination_of(stage);
    if (stage.nodes.any()) {
        a.destination = Destination::nodes;
        a.nodes = stage.nodes;
    } else {
        a.finish = stage.finish;
    }
    a.mapping = stage.mapping;
    a.readable_range = readable_range_of(a.input, s, static_cast<std::size_t>(stage.kernels->element_bytes));
    Launch how{stage.node_rows != nullptr ? stage.node_rows : kernel_of(*stage.kernels, stage.plan), 1,
               plan.block_warps * warp_lanes};
    how.dependent = gpu.dependent_launch;
    how.shared_bytes = plan.shared_bytes;
    if (stage.plan.algorithm == ReduceAlgorithm::cluster_rows) {
        return launch_cluster(a, how, stage.kernels->cluster_rows != nullptr, stream, gpu);
    }
    if (plan.splits == 1) {
        return launch_in_parts(how, &Launch::blocks, plan.rows_a_block, a.rows, a.first_row, &a, stream);
    }
    cudaError_t error = cudaSuccess;
    for (; error == cudaSuccess && a.first_split < plan.splits; a.first_split += most_blocks) {
        how.blocks = std::min(plan.splits - a.first_split, most_blocks);
        error = launch_in_parts(how, &Launch::block_rows, plan.rows_a_block, a.rows, a.first_row, &a, stream);
    }
    return error;
}

cudaError_t launch_columns(const Stage &stage, void *output, cudaStream_t stream, GpuFacts gpu) {
    const Shape &s = stage.plan.shape;
    const ColumnPlan &plan = stage.plan.columns;
    ColumnArguments a{};
    a.input = stage.input;
    a.output = output;
    a.few_jobs = plan.blocks <= most_blocks;
    a.outer = s.outer;
    a.axis = s.axis;
    a.inner = s.inner;
    a.outer_stride = s.outer_stride;
    a.axis_stride = s.axis_stride;
    a.groups = plan.groups;
    a.groups_are_clusters = plan.groups_are_clusters;
    a.column_tiles = plan.column_tiles;
    a.run = plan.run;
    a.threads_across = plan.threads_across;
    a.threads_down = plan.threads_down;
    a.outer_a_block = static_cast<std::int32_t>(plan.outer_a_block);
    a.vectors = plan.vectors_a_thread;
    a.by_across = small_divisor(static_cast<std::uint32_t>(plan.threads_across));
    a.destination = destination_of(stage);
    a.mapping = stage.mapping;
    a.finish = stage.finish;
    Launch how{kernel_of(*stage.kernels, stage.plan), 1, plan.threads_across * plan.threads_down * a.outer_a_block};
    how.dependent = gpu.dependent_launch;
    how.cluster_blocks = plan.groups_are_clusters ? static_cast<int>(plan.groups) : 1;
    return launch_in_parts(how, &Launch::blocks, 1, plan.blocks, a.first_job, &a, stream);
}

cudaError_t launch_staged(const Stage &stage, void *output, cudaStream_t stream, GpuFacts gpu) {
    const Shape &s = stage.plan.shape;
    const StagedPlan &plan = stage.plan.staged;
    StagedArguments a{};
    a.input = stage.input;
    a.output = output;
    a.outer = s.outer;
    a.axis = plan.axis;
    a.inner = s.inner;
    a.groups = plan.groups;
    a.group_blocks = plan.group_blocks;
    a.rows = static_cast<std::int32_t>(plan.rows);
    a.items_a_block = static_cast<std::int32_t>(plan.items_a_block);
    a.run = static_cast<std::int32_t>(plan.run);
    a.runs = static_cast<std::int32_t>(plan.runs);
    a.runs_are_neighbours = plan.runs_are_neighbours;
    a.item_pitch = static_cast<std::int32_t>(plan.item_pitch);
    a.run_pitch = static_cast<std::int32_t>(plan.run_pitch);
    a.gap = static_cast<std::int32_t>(plan.gap);
    a.unit = small_divisor(static_cast<std::uint32_t>(plan.unit));
    a.by_inner = small_divisor(static_cast<std::uint32_t>(s.inner));
    a.by_neighbours =
        small_divisor(static_cast<std::uint32_t>(plan.runs_are_neighbours ? plan.runs : plan.items_a_block));
    a.destination = destination_of(stage);
    a.mapping = stage.mapping;
    a.finish = stage.finish;
    a.readable_range = readable_range_of(a.input, s, static_cast<std::size_t>(stage.kernels->element_bytes));
    Launch how{kernel_of(*stage.kernels, stage.plan), 1, static_cast<int>(plan.threads)};
    how.dependent = gpu.dependent_launch;
    how.shared_bytes = plan.shared_bytes;
    return launch_in_parts(how, &Launch::blocks, 1, plan.blocks, a.first_block, &a, stream);
}

cudaError_t launch_stage(const Stage &stage, void *output, cudaStream_t stream, GpuFacts gpu) {
    switch (stage.plan.algorithm) {
    case ReduceAlgorithm::columns:
        return launch_columns(stage, output, stream, gpu);
    case ReduceAlgorithm::staged_vectors:
    case ReduceAlgorithm::staged:
        return launch_staged(stage, output, stream, gpu);
    default:
        return launch_rows(stage, output, stream, gpu);
    }
}

// Each stage's partial results start on a boundary of their own.
std::size_t bytes_for(std::size_t partials, int partial_bytes) {
    return divide_up(partials * static_cast<std::size_t>(partial_bytes), partial_alignment) * partial_alignment;
}

std::size_t workspace_bytes(ReducePlan plan, const ReduceKernels &kernels, GpuFacts gpu, bool to_accumulators) {
    std::size_t total = 0;
    for (const ReduceKernels *stage = &kernels; plan.partials != 0;) {
        total += bytes_for(plan.partials, stage->partial_bytes);
        stage = &stage->partial();
        plan = plan_stage(partials_shape(plan), 0, *stage, gpu, to_accumulators);
    }
    return total;
}

cudaError_t run_stages(const ReduceProblem &problem, Stage stage, Workspace &workspace, cudaStream_t stream,
                       GpuFacts gpu) {
    while (stage.plan.partials != 0) {
        void *partials = workspace.take(bytes_for(stage.plan.partials, stage.kernels->partial_bytes));
        const cudaError_t error = launch_stage(stage, partials, stream, gpu);
        if (error != cudaSuccess) {
            return error;
        }
        const Shape shape = partials_shape(stage.plan);
        stage.kernels = &stage.kernels->partial();
        stage.plan = plan_stage(shape, 0, *stage.kernels, gpu, stage.to_accumulators);
        stage.input = partials;
        stage.mapping = {};
    }
    return launch_stage(stage, problem.output, stream, gpu);
}

// Of one element the place is known, whatever it is.
bool is_place_of_one(const ReduceProblem &problem) {
    const Reduction &what = problem.what;
    return (what.op == Operator::argmin || what.op == Operator::argmax) && problem.shape.axis == 1 &&
           problem.values == nullptr && !what.ignore_nan;
}

cudaError_t set_places_to_0(const ReduceProblem &problem, const GpuFacts &gpu, cudaStream_t stream) {
    const std::size_t places = problem.shape.outer * problem.shape.inner;
    const std::size_t bytes = traits_of(problem.what.output_dtype).size;
    return bytes == sizeof(std::uint64_t) && places != 0
               ? launch_fill_words({static_cast<std::uint64_t *>(problem.output), places, 0}, gpu, stream)
               : runtime().memset_async(problem.output, 0, places * bytes, stream);
}

// On every GPU, wherever the input lies.
std::size_t most_workspace_bytes(const ReduceProblem &problem, bool to_accumulators) {
    const ReduceKernels *kernels = find_reduce_kernels(problem.what);
    if (kernels == nullptr || problem.shape.outer == 0 || problem.shape.inner == 0) {
        return 0;
    }
    // Only columns are cut up by the input's alignment; it is not known here.
    const auto bytes_at = [&](std::uintptr_t address) {
        return workspace_bytes(plan_stage(problem.shape, address, *kernels, most_demanding_gpu, to_accumulators),
                               *kernels, most_demanding_gpu, to_accumulators);
    };
    const std::size_t aligned = bytes_at(0);
    return problem.shape.inner == 1 && problem.shape.outer == 1 ? aligned : std::max(aligned, bytes_at(1));
}

Stage first_stage(const ReduceProblem &problem, const ReduceKernels &kernels, GpuFacts gpu, bool to_accumulators) {
    const auto address = reinterpret_cast<std::uintptr_t>(problem.input);
    return {&kernels,
            plan_stage(problem.shape, address, kernels, gpu, to_accumulators),
            problem.input,
            mapping_of(problem.what, problem.weights),
            finish_of(problem.what, problem.shape.axis, problem.values),
            to_accumulators,
            {},
            nullptr};
}

std::uintptr_t origin_of(const ReduceProblem &piece, std::uint64_t first) {
    const std::size_t before = first * traits_of(piece.what.dtype).size;
    return reinterpret_cast<std::uintptr_t>(piece.input) - before * static_cast<std::size_t>(piece.shape.axis_stride);
}

NodePlan node_plan(const ReduceProblem &piece, std::uint64_t first, std::uintptr_t origin, GpuFacts gpu) {
    const ReduceKernels &kernels = *find_reduce_kernels(piece.what);
    if (find_node_row_kernels(piece.what).warps != nullptr) {
        const NodePlan plan = plan_nodes_of_short_rows(piece.shape, static_cast<std::size_t>(kernels.element_bytes),
                                                       {first, piece.shape.axis}, gpu);
        if (plan.fits) {
            return plan;
        }
    }
    return plan_nodes(plan_stage(piece.shape, origin, kernels, gpu, true), kernels, {first, piece.shape.axis});
}

std::size_t partials_bytes(const ReduceProblem &piece, const NodePlan &plan) {
    return bytes_for(plan.rows.partials, find_reduce_kernels(piece.what)->partial_bytes);
}

// What the runs of a plan come to, as nodes.
cudaError_t reduce_runs(const NodePlan &plan, const void *partials, void *accumulators, const ReduceKernels &kernels,
                        cudaStream_t stream, GpuFacts gpu) {
    const std::size_t rows = plan.rows.shape.outer * plan.rows.shape.inner, splits = plan.rows.rows.splits;
    const auto bytes = static_cast<std::size_t>(kernels.element_bytes);
    const std::size_t nodes_before = bits_of(plan.nodes.growing);
    const std::size_t splits_before = splits_of_nodes(plan.nodes.growing, plan.nodes.small());
    const Shape shape{rows, plan.runs.count, 1, static_cast<std::ptrdiff_t>(splits), 1, 1};
    const void *const first = static_cast<const char *>(partials) + splits_before * bytes;
    NodePlan own = plan_lone_nodes(shape, kernels, plan.runs);
    own.nodes.accumulators = static_cast<char *>(accumulators) + nodes_before * rows * bytes;
    return launch_stage({&kernels, own.rows, first, {}, {}, true, own.nodes, nullptr}, nullptr, stream, gpu);
}

} // namespace

bool has_nodes_side_by_side(const ReduceProblem &piece, std::uint64_t first, GpuFacts gpu) {
    return node_plan(piece, first, origin_of(piece, first), gpu).fits;
}

std::size_t nodes_workspace_bytes(const ReduceProblem &piece, std::uint64_t first, GpuFacts gpu) {
    return partials_bytes(piece, node_plan(piece, first, origin_of(piece, first), gpu));
}

std::size_t nodes_workspace_bytes(const ReduceProblem &piece, std::uint64_t first) {
    return std::max(partials_bytes(piece, node_plan(piece, first, 0, most_demanding_gpu)),
                    partials_bytes(piece, node_plan(piece, first, 1, most_demanding_gpu)));
}

cudaError_t reduce_to_nodes(const ReduceProblem &piece, std::uint64_t first, Workspace &workspace, cudaStream_t stream,
                            GpuFacts gpu) {
    const ReduceKernels &kernels = *find_reduce_kernels(piece.what);
    const NodeRowKernels short_rows = find_node_row_kernels(piece.what);
    NodePlan plan = node_plan(piece, first, origin_of(piece, first), gpu);
    plan.nodes.accumulators = piece.output;
    plan.nodes.weight_bytes = static_cast<std::int32_t>(traits_of(piece.what.weights_dtype).size);
    void *const partials = plan.runs.count == 0 ? nullptr : workspace.take(partials_bytes(piece, plan));
    const Stage stage{&kernels,
                      plan.rows,
                      piece.input,
                      mapping_of(piece.what, piece.weights),
                      finish_of(piece.what, piece.shape.axis, nullptr),
                      true,
                      plan.nodes,
                      plan.short_rows == ShortRows::staged        ? short_rows.staged
                      : plan.short_rows == ShortRows::a_warp_each ? short_rows.warps
                                                                  : nullptr};
    const cudaError_t error = launch_stage(stage, partials, stream, gpu);
    return error != cudaSuccess || plan.runs.count == 0
               ? error
               : reduce_runs(plan, partials, piece.output, kernels.partial(), stream, gpu);
}

std::size_t reduce_workspace_bytes(const ReduceProblem &problem) { return most_workspace_bytes(problem, false); }

std::size_t accumulators_workspace_bytes(const ReduceProblem &problem) { return most_workspace_bytes(problem, true); }

std::size_t accumulators_workspace_bytes(const ReduceProblem &problem, GpuFacts gpu) {
    const ReduceKernels *kernels = find_reduce_kernels(problem.what);
    return kernels == nullptr ? 0
                              : workspace_bytes(first_stage(problem, *kernels, gpu, true).plan, *kernels, gpu, true);
}

cudaError_t reduce_to_accumulators(const ReduceProblem &problem, Workspace &workspace, cudaStream_t stream,
                                   GpuFacts gpu) {
    const ReduceKernels *kernels = find_reduce_kernels(problem.what);
    return kernels == nullptr ? cudaErrorInvalidValue
                              : run_stages(problem, first_stage(problem, *kernels, gpu, true), workspace, stream, gpu);
}

std::int32_t reduce(const ReduceProblem &problem, void *stream_handle) {
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const ReduceKernels *kernels = find_reduce_kernels(problem.what);
    if (kernels == nullptr) {
        return static_cast<std::int32_t>(Status::unsupported);
    }
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    if (is_place_of_one(problem)) {
        return report(set_places_to_0(problem, device.gpu(), stream));
    }
    const GpuFacts gpu = device.gpu();
    const Stage first = first_stage(problem, *kernels, gpu, false);
    const std::size_t needed =
        problem.workspace == nullptr ? workspace_bytes(first.plan, *kernels, gpu, false) : problem.workspace_bytes;
    Workspace workspace(problem, needed, stream);
    if (workspace.error() != cudaSuccess) {
        return report(workspace.error());
    }
    const cudaError_t launched = run_stages(problem, first, workspace, stream, gpu);
    const cudaError_t freed = workspace.finish();
    return report(launched != cudaSuccess ? launched : freed);
}

} // namespace wr::cuda
