#include "cuda/softmax/columns/column_tile.h"

#include "cuda/common/alignment.h"
#include "cuda/common/vector_types.h"
#include "cuda/rowwise/column_tile_plan.h"
#include "cuda/softmax/columns/column_tile_kernels.h"
#include "cuda/softmax/plan.h"

namespace wr::cuda {

namespace {

// Softmax of columns of up to so many elements is done so, whatever is wanted of them (TB/s, and in register tiles: f32
// 600 x 50001 with logsumexp 1.86 and 1.62; bf16 900 x 50001 1.22 and 1.01; log 900 x 65536 2.0 and 1.19), and of any
// in whole vectors of which masks, lengths or the causal limit leave elements out (masked, and held or walked by
// threads each: f32 21, 512, 1024 2.89, 2.87, 2.69 and 1.49, 1.15, 0.96; bf16 2.23, 2.35, 2.25 and 0.80, 0.61, 0.43).
constexpr std::size_t softmax_column_tile_axis = 1024;

// Logsumexp alone likewise, of f32, of 16 bits, and off the boundaries (TB/s, and by other kernels: f32 150, 256, 384,
// 400 2.43, 2.75, 2.64, 1.87 and 1.40, 1.98, 2.43, 2.50, 600 x 1001 0.89 and 0.26; bf16 256, 257 1.72, 1.09 and 1.28,
// 1.27, 300 x 1001 0.75 and 0.18).
constexpr std::size_t logsumexp_column_tile_axis = 384;
constexpr std::size_t logsumexp_narrow_column_tile_axis = 256;
constexpr std::size_t logsumexp_short_single_column_axis = 1024;

const ColumnTileSoftmaxKernels *find_kernels(ElementType dtype) {
    return of_vector_type(dtype, []<class T>() { return &column_tile_softmax_kernels<T>(); });
}

// Whether columns' largest logits are wanted beside the sums: for more than plain softmax's outputs.
bool wants_logits(const SoftmaxProblem &p) { return p.log || wants_row_values(p) || !leaves_nothing_out(p.selection); }

const ColumnTileSoftmaxKernels::OfAKind &kernels_for(const ColumnTileSoftmaxKernels &kernels, const SoftmaxProblem &p,
                                                     bool whole) {
    return leaves_nothing_out(p.selection) ? kernels.of[wants_logits(p) ? 1 : 0][whole ? 1 : 0] : kernels.masked;
}

MaskedColumnTileArguments arguments_of(const SoftmaxProblem &problem, const ColumnTilePlan &plan,
                                       const ColumnTileSoftmaxKernels &kernels) {
    MaskedColumnTileArguments all{};
    all.softmax = arguments_of_problem(problem);
    all.tiles = plan.tiles;
    all.memory = {plan, kernels.each, kernels.left_bytes[wants_logits(problem) ? 1 : 0], sizeof(ColumnTileKept)};
    all.selection = problem.selection;
    all.logsumexp_type = problem.output == nullptr ? problem.logsumexp_dtype : ElementType::f32;
    return all;
}

ColumnTileThreads threads_of(const SoftmaxProblem &problem, const ColumnTileSoftmaxKernels::OfAKind &of,
                             int least_rows) {
    const bool more_registers = of[of_own_tiles].most_threads < column_tile_most_threads;
    const bool narrow_tiles = traits_of(problem.dtype).size == 2 || wants_logits(problem);
    return {least_rows,
            2 * least_rows,
            softmax_column_tile_threads,
            more_registers ? column_tile_lone_threads_of_more_registers : column_tile_lone_threads,
            static_cast<std::size_t>(of[of_most_rows].most_threads),
            narrow_tiles ? column_tile_narrow_lanes : column_tile_lanes};
}

ColumnTileSoftmaxRows rows_of(const ColumnTilePlan &plan, const ColumnTileSoftmaxKernels::OfAKind &of, int least_rows) {
    if (plan.tiles.rows == least_rows) {
        return of_least_rows;
    }
    return plan.has_own_tiles() && plan.threads <= of[of_own_tiles].most_threads ? of_own_tiles : of_most_rows;
}

// Elements of a column at most; whole: of whole vectors of columns, which other kernels serve too.
std::size_t most_axis(const SoftmaxProblem &p, bool whole) {
    const bool narrow = traits_of(p.dtype).size == 2;
    if (p.output == nullptr) {
        return !whole   ? logsumexp_short_single_column_axis
               : narrow ? logsumexp_narrow_column_tile_axis
                        : logsumexp_column_tile_axis;
    }
    return softmax_column_tile_axis;
}

// The logsumexp alone in one of the types that kernels write.
bool are_outputs_served(const SoftmaxProblem &p) {
    return p.output == nullptr
               ? is_logsumexp_alone(p) && (p.logsumexp_dtype == ElementType::f32 || p.logsumexp_dtype == p.dtype)
               : p.output_dtype == p.dtype;
}

bool are_served(const SoftmaxProblem &p, bool whole) {
    const bool scaled_halves = traits_of(p.dtype).size == 2 && p.scale != 1.0;
    return are_outputs_served(p) && p.scales == nullptr && !scaled_halves && p.shape.inner_stride == 1 &&
           (whole || leaves_nothing_out(p.selection)) && is_column_tile(p.shape, most_axis(p, whole), whole);
}

// Whether columns are whole vectors, and the mask's bytes whole words beside them.
bool takes_vectors(const SoftmaxProblem &p) {
    return takes_column_vectors(p) && is_aligned(p.selection.mask, elements_of_vector(p.dtype));
}

} // namespace

cudaError_t launch_column_tiles(const SoftmaxProblem &problem, const GpuFacts &gpu, cudaStream_t stream,
                                bool *supported) {
    *supported = false;
    if (problem.shape.inner == 1) { // rows, of which few are on the GPU sooner where nothing else is asked first
        return cudaSuccess;
    }
    const ColumnTileSoftmaxKernels *kernels = find_kernels(problem.dtype);
    const bool whole = takes_vectors(problem);
    if (kernels == nullptr || !are_served(problem, whole)) {
        return cudaSuccess;
    }
    const ColumnTileSoftmaxKernels::OfAKind &of = kernels_for(*kernels, problem, whole);
    const ColumnTileThreads threads = threads_of(problem, of, kernels->least_rows);
    const ColumnTilePlan plan = plan_column_tiles(problem.shape, traits_of(problem.dtype).size, threads, whole, gpu);
    if (plan.threads == 0) {
        return cudaSuccess;
    }
    MaskedColumnTileArguments a = arguments_of(problem, plan, *kernels);
    const void *const kernel = of[rows_of(plan, of, kernels->least_rows)].kernel;
    const Launch how = column_tile_launch(kernel, plan, a.memory, gpu);
    const cudaError_t error = allow_shared_bytes(how, gpu, supported);
    return error == cudaSuccess && *supported ? launch(how, &a, stream) : error;
}

} // namespace wr::cuda
