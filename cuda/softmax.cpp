// Puts a softmax on a stream.
#include "numerics/softmax.h"
#include "cuda/gpu.h"
#include "cuda/launch.h"
#include "cuda/softmax_column_clusters.h"
#include "cuda/softmax_kernels.h"
#include "cuda/softmax_pipeline_runs.h"
#include "cuda/tuning.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

constexpr std::size_t vector_bytes = 16;
constexpr std::size_t warp_lanes = 32;
constexpr std::size_t long_row_threads = 256;
constexpr std::size_t long_row_warps = long_row_threads / warp_lanes;
constexpr std::size_t column_threads = 128;
constexpr std::size_t most_register_blocks = 32; // a row of 32 base blocks is a block of 1024 threads
constexpr std::size_t most_cluster_warps = 32;   // of a block
constexpr std::size_t most_blocks_a_warp = 32;   // a warp keeps one state a lane

enum class Regime { short_rows, registers, clusters, long_rows, tiles, columns };

// How a row's elements are reached.
enum class Places { vectors, shifted, singles };

struct SoftmaxPlan {
    Regime regime;
    std::size_t blocks; // base blocks of a row
    std::size_t pieces; // states of a row; 0 where none is stored
    std::size_t blocks_a_warp;
    std::size_t cluster_blocks, cluster_warps;
    int tile;                      // which of softmax_tiles
    const void *const *short_rows; // the kernels of short rows, [log]
    std::size_t lanes, batches;    // a short row's lanes or places, and how often a warp's lanes take rows
    std::size_t warp_rows;         // short rows of a warp
};

// Whether there are so few base blocks that each should get a multiprocessor's attention to itself.
bool is_small(std::size_t base_blocks, const GpuFacts &gpu) {
    return base_blocks < static_cast<std::size_t>(gpu.multiprocessors) * tuning::softmax_few_blocks;
}

// Blocks of so many warps at least, and so many at most, for a cluster that shares a row.
void set_cluster(SoftmaxPlan &plan, std::size_t least_warps, std::size_t most_blocks_of_cluster) {
    std::size_t warps = least_warps;
    while (warps * most_blocks_of_cluster < plan.blocks) {
        warps *= 2;
    }
    plan.cluster_blocks = divide_up(plan.blocks, warps);
    plan.cluster_warps = divide_up(plan.blocks, plan.cluster_blocks);
}

// Blocks of a cluster and warps of a block for rows of so many base blocks.
void plan_cluster(SoftmaxPlan &plan, std::size_t rows, std::size_t most_warps, const GpuFacts &gpu) {
    std::size_t least_warps = tuning::softmax_cluster_warps;
    if (plan.blocks > warp_lanes) {
        least_warps = std::max(least_warps, most_warps);
    }
    if (is_small(rows * plan.blocks, gpu)) {
        least_warps = 1;
    }
    set_cluster(plan, least_warps, static_cast<std::size_t>(gpu.cluster_blocks));
}

// The same for rows off the boundaries: between softmax_shifted_warps and as many warps as a block may have, so that as
// few as possible are behind the row's end (H200, 50257 by 5 blocks of 10 warps: f32 3.30 TB/s, bf16 2.59; by 7 of 8 at
// most 2.94 and 2.13).
void plan_shifted_cluster(SoftmaxPlan &plan, std::size_t rows, std::size_t element_bytes, const GpuFacts &gpu) {
    plan_cluster(plan, rows, softmax_shifted_warps, gpu);
    if (plan.blocks <= warp_lanes || is_small(rows * plan.blocks, gpu)) {
        return;
    }
    std::size_t fewest = 0;
    for (std::size_t most = softmax_shifted_warps; most <= shifted_cluster_warps(element_bytes); ++most) {
        const std::size_t blocks = divide_up(plan.blocks, most), warps = divide_up(plan.blocks, blocks);
        if (blocks <= static_cast<std::size_t>(gpu.cluster_blocks) && (fewest == 0 || blocks * warps < fewest)) {
            fewest = blocks * warps;
            plan.cluster_blocks = blocks;
            plan.cluster_warps = warps;
        }
    }
}

// The same with more blocks than every GPU allows.
SoftmaxPlan with_wide_cluster(SoftmaxPlan plan, std::size_t rows, const GpuFacts &gpu) {
    set_cluster(plan, is_small(rows * plan.blocks, gpu) ? 1 : tuning::softmax_cluster_warps,
                tuning::softmax_wide_cluster_blocks);
    return plan;
}

bool wants_wide_cluster(const SoftmaxPlan &plan, std::size_t rows, const GpuFacts &gpu) {
    const bool rather_few =
        rows * plan.blocks < static_cast<std::size_t>(gpu.multiprocessors) * tuning::softmax_wide_blocks;
    return plan.blocks > (rather_few ? tuning::softmax_wide_row_blocks : tuning::softmax_wide_long_row_blocks);
}

// Whether there are so many rows that clusters which stay are worth setting up.
bool keeps_clusters_busy(const SoftmaxPlan &plan, std::size_t rows, const GpuFacts &gpu) {
    return rows * plan.blocks >= static_cast<std::size_t>(gpu.multiprocessors) * tuning::softmax_pipeline_blocks;
}

bool wants_pipeline(const SoftmaxPlan &plan, std::size_t rows, const GpuFacts &gpu) {
    return plan.blocks > tuning::softmax_pipeline_row_blocks && keeps_clusters_busy(plan, rows, gpu);
}

constexpr std::size_t most_resident_row_blocks =
    softmax_resident_blocks * softmax_resident_warps * tuning::softmax_wide_cluster_blocks;

bool wants_resident_rows(const SoftmaxPlan &plan, std::size_t rows, const GpuFacts &gpu) {
    return gpu.cluster_blocks > 0 && plan.blocks > tuning::softmax_resident_row_blocks &&
           plan.blocks <= most_resident_row_blocks && keeps_clusters_busy(plan, rows, gpu);
}

// Columns that a block's or a cluster's registers hold.
void plan_tiles(SoftmaxPlan &plan, const Shape &s, std::size_t element_bytes, const GpuFacts &gpu) {
    const auto most_blocks_of_cluster = static_cast<std::size_t>(std::max(gpu.cluster_blocks, 1));
    for (int size = 0; size < (element_bytes == sizeof(double) ? 1 : softmax_tile_sizes); ++size) {
        const auto columns = static_cast<std::size_t>(softmax_tiles[size].columns);
        const std::size_t height = static_cast<std::size_t>(softmax_tiles[size].threads) / columns * softmax_tile_run;
        const std::size_t blocks = divide_up(s.axis, height);
        if (blocks <= most_blocks_of_cluster &&
            s.outer <= most_blocks / most_blocks_of_cluster / divide_up(s.inner, columns)) {
            plan.regime = Regime::tiles;
            plan.tile = size;
            plan.cluster_blocks = blocks;
            plan.pieces = 0;
            return;
        }
    }
}

// Rows that share a warp, if these do.
void plan_short_rows(SoftmaxPlan &plan, const SoftmaxProblem &problem, const SoftmaxKernels &kernels, Places places) {
    const Shape &s = problem.shape;
    const auto element_bytes = static_cast<std::size_t>(kernels.element_bytes);
    if (places == Places::singles || s.inner != 1 || s.axis == 0 ||
        s.outer_stride != static_cast<std::ptrdiff_t>(s.axis)) {
        return;
    }
    const std::size_t elements = vector_bytes / element_bytes; // of a vector
    const std::size_t registers = softmax_block / warp_lanes / elements;
    const std::size_t vectors = divide_up(s.axis, elements);
    const std::size_t slots = std::bit_ceil(vectors);
    const std::size_t longest = element_bytes == 2 ? tuning::softmax_narrow_packed_row : tuning::softmax_short_row;
    if (kernels.short_rows.packed[0] != nullptr && s.axis % elements == 0 && slots >= registers && s.axis <= longest) {
        plan.regime = Regime::short_rows;
        plan.short_rows = places == Places::vectors ? kernels.short_rows.packed : kernels.short_rows.staged;
        plan.lanes = slots;
        plan.batches = 1;
        plan.warp_rows = registers * warp_lanes / slots;
    } else if (s.axis <= tuning::softmax_short_row) {
        plan.regime = Regime::short_rows;
        plan.short_rows = kernels.short_rows.any;
        plan.lanes = vectors <= registers + 1 ? 1 : std::bit_ceil(divide_up(vectors, registers));
        const std::size_t rows = warp_lanes / plan.lanes;
        plan.batches = std::max<std::size_t>(warp_lanes * (registers + 1) * elements / (rows * s.axis), 1);
        plan.warp_rows = rows * plan.batches;
    }
}

SoftmaxPlan plan_softmax(const Shape &s, std::size_t element_bytes, Places places, bool same_type, GpuFacts gpu) {
    SoftmaxPlan plan{Regime::registers, divide_up(s.axis, softmax_block), 0, 1, 0, 0, 0, nullptr, 0, 0, 0};
    const bool shifted = places == Places::shifted;
    const std::size_t one_block = element_bytes == 2 ? tuning::softmax_narrow_row_warps : tuning::softmax_row_warps;
    const std::size_t rows = s.outer * s.inner;
    const std::size_t most_of_one = is_small(rows * plan.blocks, gpu) ? tuning::softmax_small_row_warps : one_block;
    const bool clusters = gpu.cluster_blocks > 0 && places != Places::singles;
    if (s.inner > 1) {
        plan.regime = Regime::columns;
        plan.pieces = plan.blocks;
        if (same_type) {
            plan_tiles(plan, s, element_bytes, gpu);
        }
    } else if (clusters && plan.blocks > most_of_one &&
               plan.blocks <= static_cast<std::size_t>(gpu.cluster_blocks) *
                                  (shifted ? shifted_cluster_warps(element_bytes) : most_cluster_warps)) {
        plan.regime = Regime::clusters;
        if (shifted) {
            plan_shifted_cluster(plan, rows, element_bytes, gpu);
        } else {
            plan_cluster(plan, rows, tuning::softmax_long_cluster_warps, gpu);
        }
    } else if (plan.blocks > most_register_blocks) {
        plan.regime = Regime::long_rows;
        const auto multiprocessors =
            static_cast<std::size_t>(std::min(gpu.multiprocessors, tuning::most_multiprocessors));
        const std::size_t wanted = multiprocessors * tuning::softmax_blocks_a_multiprocessor;
        const std::size_t pieces_of_one = divide_up(plan.blocks, long_row_warps);
        while (plan.blocks_a_warp < most_blocks_a_warp &&
               s.outer * divide_up(pieces_of_one, plan.blocks_a_warp * 2) >= wanted) {
            plan.blocks_a_warp *= 2;
        }
        plan.pieces = divide_up(pieces_of_one, plan.blocks_a_warp);
    }
    return plan;
}

// Rows without elements are rows wherever the axis stands.
SoftmaxProblem normalised(SoftmaxProblem problem) {
    Shape &s = problem.shape;
    if (s.axis == 0) {
        s = {s.outer * s.inner, 0, 1, 0, 1, 1};
    }
    return problem;
}

std::size_t workspace_bytes(const Shape &s, const SoftmaxPlan &plan) {
    return plan.pieces == 0 ? 0 : s.outer * s.inner * (plan.pieces + 1) * sizeof(StoredState);
}

Places places_of(const SoftmaxProblem &problem, std::size_t element_bytes) {
    const Shape &s = problem.shape;
    if (problem.output_dtype != problem.dtype || s.axis_stride != 1) {
        return Places::singles;
    }
    const std::size_t elements = vector_bytes / element_bytes;
    const bool row_starts = s.outer <= 1 || s.outer_stride % static_cast<std::ptrdiff_t>(elements) == 0;
    const bool aligned = s.axis % elements == 0 && row_starts &&
                         reinterpret_cast<std::uintptr_t>(problem.input) % vector_bytes == 0 &&
                         reinterpret_cast<std::uintptr_t>(problem.output) % vector_bytes == 0;
    return aligned ? Places::vectors : Places::shifted;
}

// Shifted kernels have blocks of up to softmax_shifted_warps: without clusters, the longest rows of one block take
// their elements one at a time.
Places served_places(Places places, std::size_t row_blocks, const GpuFacts &gpu) {
    const bool too_long = row_blocks > softmax_shifted_warps && row_blocks <= most_register_blocks;
    return places == Places::shifted && gpu.cluster_blocks == 0 && too_long ? Places::singles : places;
}

// The bytes of the input that may be read, where a row's elements are neighbours.
void set_hull(SoftmaxArguments &a, std::size_t element_bytes) {
    const auto bytes = static_cast<std::ptrdiff_t>(element_bytes);
    const std::ptrdiff_t last = a.outer == 0 ? 0 : static_cast<std::ptrdiff_t>(a.outer - 1) * a.outer_stride;
    const char *input = static_cast<const char *>(a.input);
    a.hull_begin = input + std::min<std::ptrdiff_t>(last, 0) * bytes;
    a.hull_end = input + (std::max<std::ptrdiff_t>(last, 0) + static_cast<std::ptrdiff_t>(a.axis)) * bytes;
}

SoftmaxArguments arguments_of(const SoftmaxProblem &problem, const SoftmaxPlan &plan) {
    const Shape &s = problem.shape;
    SoftmaxArguments a{};
    a.input = problem.input;
    a.output = problem.output;
    a.logsumexp = problem.logsumexp;
    a.outer = s.outer;
    a.axis = s.axis;
    a.inner = s.inner;
    a.outer_stride = s.outer_stride;
    a.axis_stride = s.axis_stride;
    a.inner_stride = s.inner_stride;
    a.pieces = plan.pieces;
    a.blocks_a_warp = static_cast<std::int32_t>(plan.blocks_a_warp);
    a.cluster_blocks = static_cast<std::int32_t>(plan.cluster_blocks);
    a.scale = problem.scale;
    a.narrow_scale = static_cast<float>(problem.scale);
    a.output_type = problem.output_dtype;
    a.scaled = problem.scale != 1.0;
    a.log = problem.log;
    a.empty_row_zero = problem.empty_row_zero;
    return a;
}

// The part of the job that starts `rows` rows further on.
void skip_rows(SoftmaxArguments &a, std::size_t rows, int element_bytes) {
    const auto count = static_cast<std::ptrdiff_t>(rows);
    a.input = static_cast<const char *>(a.input) + count * a.outer_stride * element_bytes;
    a.output = static_cast<char *>(a.output) + rows * a.axis * traits_of(a.output_type).size;
    if (a.logsumexp != nullptr) {
        const std::size_t bytes = element_bytes == sizeof(double) ? sizeof(double) : sizeof(float);
        a.logsumexp = static_cast<char *>(a.logsumexp) + rows * bytes;
    }
    a.outer -= rows;
}

cudaError_t launch_registers(const SoftmaxKernels &kernels, const SoftmaxRowKernels &rows, SoftmaxArguments a,
                             std::size_t row_blocks, cudaStream_t stream) {
    const std::size_t warps = std::max<std::size_t>(row_blocks, 1);
    const auto size = static_cast<std::size_t>(std::bit_width(warps - 1));
    const auto rows_a_block = static_cast<std::size_t>(rows.rows_of_block[size]);
    const void *kernel = rows.rows[a.log ? 1 : 0][size];
    for (;;) {
        SoftmaxArguments part = a;
        part.outer = std::min(a.outer, most_blocks * rows_a_block);
        Launch how{kernel, divide_up(part.outer, rows_a_block), static_cast<int>(warps * warp_lanes),
                   static_cast<int>(rows_a_block)};
        how.shared_bytes = warps * rows_a_block * rows.stage_bytes;
        const cudaError_t error = launch(how, &part, stream);
        if (error != cudaSuccess || part.outer == a.outer) {
            return error;
        }
        skip_rows(a, part.outer, kernels.element_bytes);
    }
}

// Whether time is saved where clusters take their places before the kernel in front of them has finished: not where the
// two side by side leave some multiprocessors more to do than others.
bool gains_by_dependent_launch(std::size_t base_blocks, const GpuFacts &gpu) {
    const auto multiprocessors = static_cast<std::size_t>(gpu.multiprocessors);
    return base_blocks < multiprocessors * tuning::softmax_dependent_few_blocks ||
           base_blocks >= multiprocessors * tuning::softmax_dependent_many_blocks;
}

// One cluster of a plan; `blocks` is to be set to the whole grid's.
Launch one_cluster(const SoftmaxRowKernels &rows, bool log, const SoftmaxPlan &plan) {
    int size = plan.cluster_blocks * plan.cluster_warps <= warp_lanes ? 0 : 1; // states of one a lane, or more
    while (size + 1 < softmax_cluster_sizes &&
           static_cast<std::size_t>(softmax_cluster_warps[size]) < plan.cluster_warps) {
        ++size;
    }
    return {rows.clusters[log ? 1 : 0][size],
            plan.cluster_blocks,
            static_cast<int>(plan.cluster_warps * warp_lanes),
            1,
            1,
            static_cast<int>(plan.cluster_blocks),
            false,
            plan.cluster_warps * rows.stage_bytes};
}

cudaError_t launch_clusters(const SoftmaxKernels &kernels, const SoftmaxRowKernels &rows, SoftmaxArguments a,
                            SoftmaxPlan plan, const GpuFacts &gpu, cudaStream_t stream) {
    if (wants_wide_cluster(plan, a.outer, gpu)) {
        const SoftmaxPlan wide = with_wide_cluster(plan, a.outer, gpu);
        int resident = 0;
        const cudaError_t error = prepare_clusters(one_cluster(rows, a.log, wide), gpu, &resident);
        if (error != cudaSuccess) {
            return error;
        }
        plan = resident > 0 ? wide : plan;
    }
    a.cluster_blocks = static_cast<std::int32_t>(plan.cluster_blocks);
    Launch how = one_cluster(rows, a.log, plan);
    how.dependent = gpu.dependent_launch && gains_by_dependent_launch(a.outer * plan.blocks, gpu);
    const std::size_t most_rows = most_blocks / plan.cluster_blocks;
    for (;;) {
        SoftmaxArguments part = a;
        part.outer = std::min(a.outer, most_rows);
        how.blocks = part.outer * plan.cluster_blocks;
        const cudaError_t error = launch(how, &part, stream);
        if (error != cudaSuccess || part.outer == a.outer) {
            return error;
        }
        skip_rows(a, part.outer, kernels.element_bytes);
    }
}

// Puts clusters that stay on the stream, `resident` of which the GPU holds at a time; `how` is one of them.
cudaError_t launch_staying(Launch how, SoftmaxArguments a, const SoftmaxPlan &plan, int resident, cudaStream_t stream) {
    a.cluster_blocks = static_cast<std::int32_t>(plan.cluster_blocks);
    a.pieces = static_cast<std::size_t>(resident);
    how.blocks = plan.cluster_blocks *
                 pipeline_clusters(static_cast<std::uint32_t>(a.outer), static_cast<std::uint32_t>(resident));
    return launch(how, &a, stream);
}

// What the pipeline is launched with, with clusters of so many blocks at most; `blocks` is to be set to the whole
// grid's.
Launch one_pipeline(const SoftmaxPipelineKernel &pipeline, SoftmaxPlan &plan, std::size_t most_blocks_of_cluster) {
    const bool few = plan.blocks <= tuning::softmax_pipeline_few_blocks;
    set_cluster(plan, few ? tuning::softmax_pipeline_few_block_warps : tuning::softmax_cluster_warps,
                most_blocks_of_cluster);
    Launch how{pipeline.kernel,
               plan.cluster_blocks,
               static_cast<int>(plan.cluster_warps * warp_lanes),
               1,
               1,
               static_cast<int>(plan.cluster_blocks)};
    how.shared_bytes = pipeline.shared_bytes(plan.cluster_warps, plan.blocks);
    return how;
}

// Where the GPU holds no such cluster, nothing is launched and `served` is false.
cudaError_t launch_pipeline(const SoftmaxPipelineKernel &pipeline, SoftmaxArguments a, SoftmaxPlan plan,
                            const GpuFacts &gpu, cudaStream_t stream, bool *served) {
    *served = false;
    Launch how{};
    int resident = 0;
    if (plan.blocks > tuning::softmax_wide_long_row_blocks) {
        how = one_pipeline(pipeline, plan, tuning::softmax_wide_cluster_blocks);
        const cudaError_t error = prepare_clusters(how, gpu, &resident);
        if (error != cudaSuccess) {
            return error;
        }
    }
    if (resident == 0) {
        how = one_pipeline(pipeline, plan, static_cast<std::size_t>(gpu.cluster_blocks));
        const cudaError_t error = prepare_clusters(how, gpu, &resident);
        if (error != cudaSuccess || resident == 0) {
            return error;
        }
    }
    *served = true;
    return launch_staying(how, a, plan, resident, stream);
}

// The same with several base blocks a warp. Half a multiprocessor's warps to a block, as long as that gives clusters
// that every GPU promises; and clusters of a power of two, for these fill a GPU best.
cudaError_t launch_resident_rows(const SoftmaxResidentKernel &rows, const SoftmaxArguments &a, SoftmaxPlan plan,
                                 const GpuFacts &gpu, cudaStream_t stream, bool *served) {
    const std::size_t states = divide_up(plan.blocks, softmax_resident_blocks);
    plan.cluster_blocks = std::bit_ceil(divide_up(states, softmax_resident_warps / 2));
    if (plan.cluster_blocks > static_cast<std::size_t>(gpu.cluster_blocks)) {
        plan.cluster_blocks = std::bit_ceil(divide_up(states, softmax_resident_warps));
    }
    plan.cluster_warps = divide_up(states, plan.cluster_blocks);
    Launch how{rows.kernel,
               plan.cluster_blocks,
               static_cast<int>(plan.cluster_warps * warp_lanes),
               1,
               1,
               static_cast<int>(plan.cluster_blocks)};
    how.shared_bytes = rows.shared_bytes(plan.cluster_warps, states);
    int resident = 0;
    const cudaError_t error = prepare_clusters(how, gpu, &resident);
    *served = error == cudaSuccess && resident > 0;
    return *served ? launch_staying(how, a, plan, resident, stream) : error;
}

cudaError_t launch_short_rows(const SoftmaxKernels &kernels, SoftmaxArguments a, const SoftmaxPlan &plan,
                              cudaStream_t stream) {
    a.row_lanes = static_cast<std::int32_t>(plan.lanes);
    a.row_batches = static_cast<std::int32_t>(plan.batches);
    const std::size_t rows_a_block = softmax_short_row_warps * plan.warp_rows;
    for (;;) {
        SoftmaxArguments part = a;
        part.outer = std::min(a.outer, most_blocks * rows_a_block);
        const cudaError_t error = launch({plan.short_rows[a.log ? 1 : 0], divide_up(part.outer, rows_a_block),
                                          static_cast<int>(softmax_short_row_warps * warp_lanes)},
                                         &part, stream);
        if (error != cudaSuccess || part.outer == a.outer) {
            return error;
        }
        skip_rows(a, part.outer, kernels.element_bytes);
    }
}

cudaError_t launch_tiles(const SoftmaxKernels &kernels, SoftmaxArguments a, const SoftmaxPlan &plan,
                         cudaStream_t stream) {
    const SoftmaxTile tile = softmax_tiles[plan.tile];
    const auto columns = static_cast<std::size_t>(tile.columns);
    std::size_t threads = static_cast<std::size_t>(tile.threads);
    if (plan.cluster_blocks == 1) {
        threads = std::min(threads, divide_up(divide_up(a.axis, softmax_tile_run) * columns, warp_lanes) * warp_lanes);
    }
    const std::size_t blocks = a.outer * divide_up(a.inner, columns) * plan.cluster_blocks;
    return launch({kernels.tiles.of[a.log ? 1 : 0][plan.tile], blocks, static_cast<int>(threads), 1, 1,
                   static_cast<int>(plan.cluster_blocks)},
                  &a, stream);
}

// Blocks for kernels whose blocks go on to further jobs where the grid is smaller than the job.
std::size_t blocks_for(std::size_t jobs, std::size_t jobs_a_block) {
    return std::min(divide_up(jobs, jobs_a_block), most_blocks);
}

Launch totals_of(const SoftmaxKernels &kernels, std::size_t rows, std::size_t pieces, bool dependent) {
    const std::size_t rows_a_block = pieces > softmax_pieces_a_warp ? 1 : long_row_warps;
    return {
        kernels.rare.totals, blocks_for(rows, rows_a_block), static_cast<int>(long_row_threads), 1, 1, 1, dependent};
}

cudaError_t launch_long_rows(const SoftmaxKernels &kernels, const SoftmaxRowKernels &rows, SoftmaxArguments a,
                             std::size_t row_blocks, bool dependent, cudaStream_t stream) {
    constexpr int threads = static_cast<int>(long_row_threads);
    const std::size_t stages = long_row_warps * rows.stage_bytes;
    Launch states{rows.long_rows.piece_states, blocks_for(a.outer * a.pieces, 1), threads};
    states.shared_bytes = stages;
    cudaError_t error = launch(states, &a, stream);
    if (error == cudaSuccess) {
        error = launch(totals_of(kernels, a.outer, a.pieces, dependent), &a, stream);
    }
    if (error == cudaSuccess) {
        const Launch apply{rows.long_rows.apply[a.log ? 1 : 0],
                           blocks_for(a.outer * row_blocks, long_row_warps),
                           threads,
                           1,
                           1,
                           1,
                           dependent,
                           stages};
        error = launch(apply, &a, stream);
    }
    return error;
}

cudaError_t launch_columns(const SoftmaxKernels &kernels, SoftmaxArguments a, bool dependent, cudaStream_t stream) {
    constexpr int threads = static_cast<int>(column_threads);
    const std::size_t rows = a.outer * a.inner;
    const std::size_t blocks = blocks_for(rows * a.pieces, column_threads);
    cudaError_t error = launch({kernels.rare.column_states, blocks, threads}, &a, stream);
    if (error == cudaSuccess) {
        error = launch(totals_of(kernels, rows, a.pieces, dependent), &a, stream);
    }
    if (error == cudaSuccess) {
        error = launch({kernels.rare.column_apply, blocks, threads, 1, 1, 1, dependent}, &a, stream);
    }
    return error;
}

} // namespace

std::size_t softmax_workspace_bytes(const SoftmaxProblem &problem) {
    constexpr GpuFacts most_demanding_gpu{tuning::most_multiprocessors, 0, false};
    const Shape shape = normalised(problem).shape;
    return workspace_bytes(shape, plan_softmax(shape, 0, Places::singles, false, most_demanding_gpu));
}

namespace {

// Whether the kernels of clusters that stay can do the job: rows, their softmax and nothing beside it.
bool takes_plain_rows(const SoftmaxProblem &problem, const SoftmaxPlan &plan) {
    return (plan.regime == Regime::clusters || plan.regime == Regime::long_rows) && !problem.log &&
           problem.logsumexp == nullptr && problem.shape.outer <= most_blocks;
}

// A call on its way to the stream.
struct SoftmaxCall {
    const SoftmaxProblem &problem;
    const SoftmaxPlan &plan;
    const SoftmaxKernels &kernels;
    const SoftmaxRowKernels &rows;
    const GpuFacts &gpu;
    cudaStream_t stream;
};

// Rows and columns that clusters read once and write once, without a workspace; else `served` is false.
cudaError_t launch_once_read(const SoftmaxCall &call, bool *served) {
    const SoftmaxArguments a = arguments_of(call.problem, call.plan);
    *served = false;
    if (call.rows.resident.kernel != nullptr && takes_plain_rows(call.problem, call.plan) &&
        wants_resident_rows(call.plan, call.problem.shape.outer, call.gpu)) {
        const cudaError_t error = launch_resident_rows(call.rows.resident, a, call.plan, call.gpu, call.stream, served);
        if (error != cudaSuccess || *served) {
            return error;
        }
    }
    return launch_column_clusters(call.problem, a, call.gpu, call.stream, served);
}

cudaError_t launch_rows_of_clusters(const SoftmaxCall &call, const SoftmaxArguments &a) {
    if (call.rows.pipeline.kernel != nullptr && takes_plain_rows(call.problem, call.plan) &&
        wants_pipeline(call.plan, a.outer, call.gpu)) {
        bool served = false;
        const cudaError_t error = launch_pipeline(call.rows.pipeline, a, call.plan, call.gpu, call.stream, &served);
        if (error != cudaSuccess || served) {
            return error;
        }
    }
    return launch_clusters(call.kernels, call.rows, a, call.plan, call.gpu, call.stream);
}

cudaError_t launch_regime(const SoftmaxCall &call, const SoftmaxArguments &a) {
    const bool dependent = call.gpu.dependent_launch;
    switch (call.plan.regime) {
    case Regime::short_rows:
        return launch_short_rows(call.kernels, a, call.plan, call.stream);
    case Regime::tiles:
        return launch_tiles(call.kernels, a, call.plan, call.stream);
    case Regime::registers:
        return launch_registers(call.kernels, call.rows, a, call.plan.blocks, call.stream);
    case Regime::clusters:
        return launch_rows_of_clusters(call, a);
    case Regime::long_rows:
        return launch_long_rows(call.kernels, call.rows, a, call.plan.blocks, dependent, call.stream);
    case Regime::columns:
        return launch_columns(call.kernels, a, dependent, call.stream);
    }
    return cudaErrorUnknown;
}

// With memory for the states and totals of rows that are read twice.
cudaError_t launch_with_workspace(const SoftmaxCall &call) {
    Workspace workspace(call.problem.workspace, workspace_bytes(call.problem.shape, call.plan), call.stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    SoftmaxArguments a = arguments_of(call.problem, call.plan);
    const std::size_t rows = a.outer * a.inner;
    if (call.plan.pieces != 0) {
        a.totals = static_cast<StoredState *>(workspace.take(rows * sizeof(StoredState)));
        a.states = static_cast<StoredState *>(workspace.take(rows * call.plan.pieces * sizeof(StoredState)));
    }
    set_hull(a, static_cast<std::size_t>(call.kernels.element_bytes));
    const cudaError_t launched = launch_regime(call, a);
    const cudaError_t freed = workspace.finish();
    return launched != cudaSuccess ? launched : freed;
}

} // namespace

std::int32_t softmax(const SoftmaxProblem &asked, void *stream_handle) {
    const SoftmaxProblem problem = normalised(asked);
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const SoftmaxKernels *kernels = find_softmax_kernels(problem.dtype);
    if (kernels == nullptr) {
        return static_cast<std::int32_t>(Status::unsupported);
    }
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    const auto element_bytes = static_cast<std::size_t>(kernels->element_bytes);
    const Places places =
        served_places(places_of(problem, element_bytes), divide_up(problem.shape.axis, softmax_block), device.gpu());
    SoftmaxPlan plan =
        plan_softmax(problem.shape, element_bytes, places, problem.output_dtype == problem.dtype, device.gpu());
    plan_short_rows(plan, problem, *kernels, places);
    const SoftmaxRowKernels &rows = places == Places::vectors   ? kernels->vectors
                                    : places == Places::shifted ? kernels->shifted
                                                                : kernels->rare.singles;
    const SoftmaxCall call{problem, plan, *kernels, rows, device.gpu(), stream};
    bool served = false;
    const cudaError_t once = launch_once_read(call, &served);
    return report(once != cudaSuccess || served ? once : launch_with_workspace(call));
}

const SoftmaxKernels *find_softmax_kernels(ElementType dtype) {
    switch (dtype) {
    case ElementType::f32:
        return &softmax_kernels<float>();
    case ElementType::f64:
        return &softmax_kernels<double>();
    case ElementType::f16:
        return &softmax_kernels<F16>();
    case ElementType::bf16:
        return &softmax_kernels<BF16>();
    default:
        return nullptr;
    }
}

} // namespace wr::cuda
