// Puts a softmax on a stream.
#include "cuda/common/launch.h"
#include "cuda/common/tuning.h"
#include "cuda/common/vector_types.h"
#include "cuda/common/warp.h"
#include "cuda/gpu.h"
#include "cuda/softmax/columns/clusters.h"
#include "cuda/softmax/columns/column_tile.h"
#include "cuda/softmax/kernels.h"
#include "cuda/softmax/logsumexp/logsumexp.h"
#include "cuda/softmax/lookback/columns.h"
#include "cuda/softmax/lookback/rows.h"
#include "cuda/softmax/plan.h"
#include "cuda/softmax/rows/cooperative_rows.h"
#include "cuda/softmax/rows/masked_rows.h"
#include "cuda/softmax/splits.h"
#include "cuda/softmax/sub_warp/striped_rows.h"
#include "cuda/softmax/two_pass/columns.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

// Empty where the array is smaller than a base block and two vectors.
Hull interior_of(const Hull &hull, std::size_t element_bytes) {
    const std::size_t kept = softmax_block * element_bytes + bytes_of_vector;
    const bool is_longer = static_cast<std::size_t>(hull.end - hull.begin) > bytes_of_vector + kept;
    return is_longer ? Hull{hull.begin + bytes_of_vector, hull.end - kept} : Hull{};
}

SoftmaxArguments arguments_of(const SoftmaxProblem &problem, const SoftmaxPlan &plan) {
    SoftmaxArguments a = arguments_of_problem(problem);
    a.hull = hull_of(problem.input, problem.shape, traits_of(problem.dtype).size);
    a.interior = interior_of(a.hull, traits_of(problem.dtype).size);
    a.pieces = plan.pieces;
    a.blocks_a_warp = static_cast<std::int32_t>(plan.blocks_a_warp);
    a.cluster_blocks = static_cast<std::int32_t>(plan.cluster_blocks);
    return a;
}

// The part of the job that starts `rows` rows further on.
void skip_rows(SoftmaxArguments &a, std::size_t rows) {
    const auto count = static_cast<std::ptrdiff_t>(rows);
    const std::size_t element_bytes = traits_of(a.input_type).size;
    a.input = static_cast<const char *>(a.input) + count * a.outer_stride * static_cast<std::ptrdiff_t>(element_bytes);
    a.output = static_cast<char *>(a.output) + rows * a.axis * traits_of(a.output_type).size;
    const std::size_t value_bytes = element_bytes == sizeof(double) ? sizeof(double) : sizeof(float);
    for (void **const values : {&a.logsumexp, &a.maximum}) {
        if (*values != nullptr) {
            *values = static_cast<char *>(*values) + rows * value_bytes;
        }
    }
    a.outer -= rows;
}

struct RowsKernel {
    const void *kernel;
    std::size_t rows_a_block;
};

// For rows of up to 2^size base blocks.
RowsKernel rows_kernel(const SoftmaxRowKernels &rows, const SoftmaxArguments &a, std::size_t size) {
    const std::size_t log = a.log ? 1 : 0;
    const RowsKernel usual{rows.rows[log][size], static_cast<std::size_t>(rows.rows_of_block[log][size])};
    if (a.log) {
        return usual;
    }
    if (rows.three_quarter_rows != nullptr && a.axis <= softmax_three_quarters) {
        return {rows.three_quarter_rows, usual.rows_a_block};
    }
    const bool waits = wants_row_values(a) || a.axis % softmax_block != 0;
    if (!waits || rows.waiting_rows == nullptr || (1 << size) > softmax_waiting_row_warps) {
        return usual;
    }
    return size == 0 ? RowsKernel{rows.waiting_block, usual.rows_a_block} : RowsKernel{rows.waiting_rows, 1};
}

cudaError_t launch_registers(const SoftmaxRowKernels &rows, SoftmaxArguments a, std::size_t row_blocks, bool dependent,
                             cudaStream_t stream) {
    const std::size_t warps = std::max<std::size_t>(row_blocks, 1);
    const auto size = static_cast<std::size_t>(std::bit_width(warps - 1));
    const auto [kernel, rows_a_block] = rows_kernel(rows, a, size);
    for (;;) {
        SoftmaxArguments part = a;
        part.outer = std::min(a.outer, most_blocks * rows_a_block);
        Launch how{kernel, divide_up(part.outer, rows_a_block), static_cast<int>(warps * warp_threads),
                   static_cast<int>(rows_a_block)};
        how.dependent = dependent;
        how.shared_bytes = warps * rows_a_block * rows.stage_bytes;
        const cudaError_t error = launch(how, &part, stream);
        if (error != cudaSuccess || part.outer == a.outer) {
            return error;
        }
        skip_rows(a, part.outer);
    }
}

// Whose every warp makes the total of a row of so many states; nullptr where there is none, or it is not the quicker
// one.
const void *each_merges_kernel(const SoftmaxEachMergesKernels &kernels, std::size_t states, const SoftmaxPlan &plan) {
    if (states <= warp_threads || plan.cluster_warps > kernels.warps ||
        (plan.few && states > kernels.most_states_of_few)) {
        return nullptr;
    }
    for (int size = 0; size < softmax_each_merges_sizes; ++size) {
        if (states <= softmax_each_merges_states[size]) {
            return kernels.of[size];
        }
    }
    return nullptr;
}

const void *cluster_kernel(const SoftmaxRowKernels &rows, const SoftmaxArguments &a, const SoftmaxPlan &plan) {
    const std::size_t states = plan.cluster_blocks * plan.cluster_warps;
    const void *const each_merges = each_merges_kernel(rows.each_merges, states, plan);
    if (!a.log && each_merges != nullptr) {
        return each_merges;
    }
    int size = states <= warp_threads ? 0 : 1; // states of one a lane, or more
    while (size + 1 < softmax_cluster_sizes &&
           static_cast<std::size_t>(softmax_cluster_warps[size]) < plan.cluster_warps) {
        ++size;
    }
    return rows.clusters[a.log ? 1 : 0][size];
}

// One cluster of a plan; `blocks` is to be set to the whole grid's.
Launch one_cluster(const SoftmaxRowKernels &rows, const SoftmaxArguments &a, const SoftmaxPlan &plan) {
    return {cluster_kernel(rows, a, plan),
            plan.cluster_blocks,
            static_cast<int>(plan.cluster_warps * warp_threads),
            1,
            1,
            static_cast<int>(plan.cluster_blocks),
            false,
            plan.cluster_warps * rows.stage_bytes,
            plan.balanced};
}

cudaError_t launch_clusters(const SoftmaxRowKernels &rows, SoftmaxArguments a, SoftmaxPlan plan, const GpuFacts &gpu,
                            cudaStream_t stream) {
    if (wants_wide_cluster(plan, a.outer, gpu)) {
        const SoftmaxPlan wide = with_wide_cluster(plan, a.outer, gpu);
        int resident = 0;
        const cudaError_t error = prepare_clusters(one_cluster(rows, a, wide), gpu, &resident);
        if (error != cudaSuccess) {
            return error;
        }
        plan = resident > 0 ? wide : plan;
    }
    a.cluster_blocks = static_cast<std::int32_t>(plan.cluster_blocks);
    Launch how = one_cluster(rows, a, plan);
    how.dependent = gpu.dependent_launch && gains_by_dependent_launch(a.outer * plan.blocks, gpu);
    bool allowed = false;
    const cudaError_t unready = allow_shared_bytes(how, gpu, &allowed);
    if (unready != cudaSuccess || !allowed) {
        return unready != cudaSuccess ? unready : cudaErrorInvalidConfiguration;
    }
    const std::size_t most_rows = most_blocks / plan.cluster_blocks;
    for (;;) {
        SoftmaxArguments part = a;
        part.outer = std::min(a.outer, most_rows);
        how.blocks = part.outer * plan.cluster_blocks;
        const cudaError_t error = launch(how, &part, stream);
        if (error != cudaSuccess || part.outer == a.outer) {
            return error;
        }
        skip_rows(a, part.outer);
    }
}

cudaError_t launch_short_rows(SoftmaxArguments a, const SoftmaxPlan &plan, bool dependent, cudaStream_t stream) {
    a.row_lanes = static_cast<std::int32_t>(plan.lanes);
    a.row_batches = static_cast<std::int32_t>(plan.batches);
    const std::size_t rows_a_block = softmax_short_row_warps * plan.warp_rows;
    for (;;) {
        SoftmaxArguments part = a;
        part.outer = std::min(a.outer, most_blocks * rows_a_block);
        Launch how{plan.short_rows[a.log ? 1 : 0], divide_up(part.outer, rows_a_block),
                   static_cast<int>(softmax_short_row_warps * warp_threads)};
        how.dependent = dependent;
        const cudaError_t error = launch(how, &part, stream);
        if (error != cudaSuccess || part.outer == a.outer) {
            return error;
        }
        skip_rows(a, part.outer);
    }
}

cudaError_t launch_tiles(const SoftmaxKernels &kernels, SoftmaxArguments a, const SoftmaxPlan &plan,
                         cudaStream_t stream) {
    const SoftmaxTile tile = softmax_tiles[plan.tile];
    const auto columns = static_cast<std::size_t>(tile.columns);
    std::size_t threads = static_cast<std::size_t>(tile.threads);
    if (plan.cluster_blocks == 1) {
        threads =
            std::min(threads, divide_up(divide_up(a.axis, softmax_tile_run) * columns, warp_threads) * warp_threads);
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
    const std::size_t rows_a_block =
        pieces > softmax_pieces_a_warp ? 1
                                       : softmax_long_row_warps * static_cast<std::size_t>(rows_of_totals_warp(pieces));
    return {kernels.rare.totals,
            blocks_for(rows, rows_a_block),
            static_cast<int>(softmax_long_row_threads),
            1,
            1,
            1,
            dependent};
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

// Rows that kernels which stay read once and write once; else `served` is false.
cudaError_t launch_rows_once_read(const SoftmaxCall &call, const SoftmaxArguments &a, bool *served) {
    const cudaError_t few = launch_grid_rows(call.rows, call.problem, a, call.plan, call.gpu, call.stream, served);
    if (few != cudaSuccess || *served) {
        return few;
    }
    const SoftmaxRelayKernel *relay = relay_kernel(call.problem, call.plan, call.rows, call.gpu);
    return relay == nullptr ? cudaSuccess : launch_relay(*relay, call.problem, a, call.gpu, call.stream, served);
}

// Columns likewise.
cudaError_t launch_columns_once_read(const SoftmaxCall &call, const SoftmaxArguments &a, bool *served) {
    const std::size_t pieces = divide_up(a.axis, softmax_block);
    const cudaError_t shared = launch_shared_columns(
        call.problem, a, call.kernels.vectors.relay[0][0].clear,
        totals_of(call.kernels, a.outer * a.inner, pieces, call.gpu.dependent_launch), call.gpu, call.stream, served);
    if (shared != cudaSuccess || *served) {
        return shared;
    }
    return launch_column_clusters(call.problem, a, call.gpu, call.stream, served);
}

cudaError_t launch_states_of_pieces(const SoftmaxCall &call, const SoftmaxArguments &a, std::size_t stages) {
    const std::size_t piece_blocks = softmax_long_row_warps * call.plan.blocks_a_warp;
    if (serves_piece_states(call.problem, a.pieces, piece_blocks)) {
        return launch_piece_states(call.problem, a.pieces, piece_blocks, a.states, call.gpu.dependent_launch,
                                   call.stream);
    }
    Launch states{call.rows.long_rows.piece_states, blocks_for(a.outer * a.pieces, 1),
                  static_cast<int>(softmax_long_row_threads)};
    states.shared_bytes = stages;
    SoftmaxArguments own = a;
    return launch(states, &own, call.stream);
}

cudaError_t launch_long_rows(const SoftmaxCall &call, SoftmaxArguments a) {
    const bool dependent = call.gpu.dependent_launch;
    const std::size_t stages = softmax_long_row_warps * call.rows.stage_bytes;
    cudaError_t error = launch_states_of_pieces(call, a, stages);
    if (error == cudaSuccess) {
        error = launch(totals_of(call.kernels, a.outer, a.pieces, dependent), &a, call.stream);
    }
    if (error == cudaSuccess) {
        const Launch apply{call.rows.long_rows.apply[a.log ? 1 : 0],
                           blocks_for(a.outer * call.plan.blocks, softmax_long_row_warps),
                           static_cast<int>(softmax_long_row_threads),
                           1,
                           1,
                           1,
                           dependent,
                           stages};
        error = launch(apply, &a, call.stream);
    }
    return error;
}

cudaError_t launch_regime(const SoftmaxCall &call, const SoftmaxArguments &a) {
    const bool dependent = call.gpu.dependent_launch;
    switch (call.plan.regime) {
    case SoftmaxRegime::short_rows:
        return launch_short_rows(a, call.plan, dependent, call.stream);
    case SoftmaxRegime::tiles:
        return launch_tiles(call.kernels, a, call.plan, call.stream);
    case SoftmaxRegime::registers:
        return launch_registers(call.rows, a, call.plan.blocks, dependent, call.stream);
    case SoftmaxRegime::clusters:
        return launch_clusters(call.rows, a, call.plan, call.gpu, call.stream);
    case SoftmaxRegime::long_rows:
        return launch_long_rows(call, a);
    case SoftmaxRegime::tall_columns:
        return launch_tall_columns(call.problem, a, most_blocks,
                                   totals_of(call.kernels, a.outer * a.inner, a.pieces, dependent), dependent,
                                   call.stream);
    case SoftmaxRegime::general: // which is served elsewhere
        break;
    }
    return cudaErrorUnknown;
}

// With memory for the states and totals of rows that are read twice.
cudaError_t launch_with_workspace(const SoftmaxCall &call, SoftmaxArguments &a) {
    Workspace workspace(call.problem, workspace_bytes(call.problem.shape, call.plan), call.stream);
    if (workspace.error() != cudaSuccess) {
        return workspace.error();
    }
    const std::size_t rows = a.outer * a.inner;
    if (call.plan.pieces != 0) {
        a.totals = static_cast<StoredState *>(workspace.take(rows * sizeof(StoredState)));
        a.states = static_cast<StoredState *>(workspace.take(rows * call.plan.pieces * sizeof(StoredState)));
    }
    const cudaError_t launched = launch_regime(call, a);
    const cudaError_t freed = workspace.finish();
    return launched != cudaSuccess ? launched : freed;
}

// How many rows and columns there have to be, and how short, for several to share a warp element by element.
SlotLimits slot_limits(const SoftmaxProblem &problem, const GpuFacts &gpu) {
    if (problem.shape.inner > 1) {
        return any_slots;
    }
    const bool wide = problem.dtype == ElementType::f32;
    return {fewest_slot_rows(gpu), wide ? tuning::softmax_slot_row : tuning::softmax_slot_converted_row};
}

// Some rows go as others do that are cut off, but keep all of their elements. 16-bit ones of whole vectors into f32, up
// to 32 base blocks long, and their logarithms into any other type (bf16 into f32, H200, 2 GiB of input, us, so and by
// the kernels that others have: 1024, 4096, 8192, 32768 1605, 1756, 1794, 1881 and 1637, 1917, 2201, 2016, log 1596,
// 1752, 1948, 1972 and 2176, 2004, 2188, 2284; but 65536 2121 and 2040, bf16 into E4M3 4096 1022 and 908, f32 into bf16
// 762 and 745, log of bf16 into f16 1253 and 1105). Logarithms of f32 rows of up to 32 off the boundaries that are not
// shared by all multiprocessors (1001, 3001, 5003, 8001 1095, 1133, 1200, 1192 and 1215, 1227, 1268, 1374).
RowBlocksPlan plan_as_cut_rows(const SoftmaxProblem &problem, const SoftmaxPlan &plan, SoftmaxPlaces places,
                               const GpuFacts &gpu) {
    const bool in_registers = plan.regime == SoftmaxRegime::registers || plan.regime == SoftmaxRegime::clusters;
    const bool is_short = plan.blocks <= warp_threads;
    if (in_registers && places == SoftmaxPlaces::converted && traits_of(problem.dtype).size == 2) {
        const bool wanted = problem.log || (problem.output_dtype == ElementType::f32 && is_short);
        const RowBlocksPlan cut = wanted ? plan_selected_softmax(problem, gpu) : RowBlocksPlan{};
        return fits_cut_rows(cut) ? cut : RowBlocksPlan{};
    }
    const bool wanted = problem.log && problem.dtype == ElementType::f32 && problem.output_dtype == problem.dtype;
    return in_registers && is_short && wanted && places == SoftmaxPlaces::shifted ? plan_softmax_anywhere(problem, gpu)
                                                                                  : RowBlocksPlan{};
}

const SoftmaxRowKernels &row_kernels_of(const SoftmaxKernels &kernels, SoftmaxPlaces places, bool converts) {
    switch (places) {
    case SoftmaxPlaces::vectors:
        return kernels.vectors;
    case SoftmaxPlaces::shifted:
        return converts ? kernels.shifted_converted : kernels.shifted;
    case SoftmaxPlaces::converted:
        return kernels.converted.rows;
    case SoftmaxPlaces::singles: // columns, which are no rows
        break;
    }
    return kernels.vectors;
}

} // namespace

bool serves_shifted_states(const SoftmaxProblem &problem, const GeneralPlan &plan) {
    return plan.regime == GeneralRegime::pieces && is_logsumexp_alone(problem) &&
           find_softmax_kernels(problem.dtype) != nullptr && problem.shape.inner == 1 && problem.shape.axis_stride == 1;
}

cudaError_t launch_shifted_states(const SoftmaxProblem &problem, const GeneralPlan &plan, StoredState *states,
                                  cudaStream_t stream) {
    const SoftmaxKernels &kernels = *find_softmax_kernels(problem.dtype);
    SoftmaxPlan pieces{};
    pieces.pieces = plan.pieces;
    pieces.blocks_a_warp = plan.blocks_a_warp;
    SoftmaxArguments a = arguments_of(problem, pieces);
    want_row_values(a, nullptr, nullptr); // which the totals give
    a.states = states;
    a.log = true; // states are to have their true maxima
    Launch how{kernels.shifted.long_rows.piece_states, blocks_for(a.outer * a.pieces, 1),
               static_cast<int>(softmax_long_row_threads)};
    how.shared_bytes = softmax_long_row_warps * kernels.shifted.stage_bytes;
    return launch(how, &a, stream);
}

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
    const GpuFacts &gpu = device.gpu();
    const SoftmaxPlaces places = softmax_places(problem, *kernels, gpu);
    if (places == SoftmaxPlaces::singles && problem.shape.inner == 1) {
        return softmax_general(problem, stream_handle);
    }
    bool served = false;
    const cudaError_t of_columns = launch_short_columns(problem, gpu, stream, &served);
    if (of_columns != cudaSuccess || served) {
        return report(of_columns);
    }
    const SoftmaxPlan plan = plan_softmax(problem, *kernels, places, gpu);
    if (plan.regime == SoftmaxRegime::general || (problem.maximum != nullptr && !writes_maxima(plan))) {
        return softmax_general(problem, stream_handle);
    }
    if (plan.regime != SoftmaxRegime::short_rows && serves_slot_softmax(problem, slot_limits(problem, gpu))) {
        return report(launch_slot_softmax(problem, {}, gpu, stream));
    }
    const SoftmaxRowKernels &rows = row_kernels_of(*kernels, places, problem.output_dtype != problem.dtype);
    const SoftmaxCall call{problem, plan, *kernels, rows, gpu, stream};
    SoftmaxArguments a = arguments_of(problem, plan);
    const cudaError_t once =
        problem.shape.inner == 1 ? launch_rows_once_read(call, a, &served) : launch_columns_once_read(call, a, &served);
    if (once != cudaSuccess || served) {
        return report(once);
    }
    if (const RowBlocksPlan cut = plan_as_cut_rows(problem, plan, places, gpu); cut.warps != 0) {
        return report(launch_selected_softmax(problem, cut, stream));
    }
    return report(launch_with_workspace(call, a));
}

} // namespace wr::cuda
