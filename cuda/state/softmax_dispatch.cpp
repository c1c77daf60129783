// Puts the jobs of states of softmax on a stream.
#include "cuda/common/gpu_facts.h"
#include "cuda/common/launch.h"
#include "cuda/common/vectors.h"
#include "cuda/gpu.h"
#include "cuda/softmax/launches.h"
#include "cuda/state/arguments.h"
#include "cuda/state/policy.h"

#include <algorithm>
#include <bit>

namespace wr::cuda {

namespace {

constexpr int longest_group = 5; // of base blocks: as many as a warp has lanes

constexpr std::size_t verdict_bytes = 16;

// Blocks of threads that jobs take, a warp or a thread each.
std::uint64_t blocks_of_warps(std::uint64_t jobs) { return divide_up<std::uint64_t>(jobs, softmax_state_warps); }
std::uint64_t blocks_beside_judges(std::uint64_t jobs) {
    return divide_up<std::uint64_t>(jobs, softmax_state_warps - 1);
}
std::uint64_t blocks_of_threads(std::uint64_t jobs) { return divide_up<std::uint64_t>(jobs, softmax_state_threads); }

// Of a grid that has two kinds of them neither kind is more.
constexpr std::uint64_t most_of_a_kind = 1 << 24;

// Of jobs whose blocks each look at the states: more take several turns.
constexpr std::uint64_t most_judging_blocks = 4096;

// The kernels of a job, one behind the other, up to the first that fails.
class Sequence {
  public:
    Sequence(cudaStream_t stream, const GpuFacts &gpu) : stream_(stream), gpu_(gpu) {}

    void put(const void *kernel, std::uint64_t blocks, int threads, void *arguments, std::size_t shared_bytes = 0,
             std::size_t block_rows = 1) {
        if (error_ == cudaSuccess && blocks != 0) {
            Launch how{kernel, std::min<std::uint64_t>(blocks, most_blocks), threads};
            how.dependent = gpu_.dependent_launch;
            how.shared_bytes = shared_bytes;
            how.block_rows = block_rows;
            error_ = launch(how, arguments, stream_);
        }
    }

    cudaError_t error() const { return error_; }
    const GpuFacts &gpu() const { return gpu_; }

  private:
    cudaStream_t stream_;
    GpuFacts gpu_;
    cudaError_t error_ = cudaSuccess;
};

// The kernels for rows of neighbours of one type, all of which take part; nullptr: these are none.
const SoftmaxVectorStateKernels *plain_kernels(const SoftmaxProblem &p) {
    if (p.shape.inner != 1 || p.shape.axis_stride != 1 || !leaves_nothing_out(p.selection)) {
        return nullptr;
    }
    switch (p.dtype) {
    case ElementType::f32:
        return &softmax_vector_state_kernels<float>();
    case ElementType::f64:
        return &softmax_vector_state_kernels<double>();
    case ElementType::f16:
        return &softmax_vector_state_kernels<F16>();
    case ElementType::bf16:
        return &softmax_vector_state_kernels<BF16>();
    default:
        return nullptr;
    }
}

// Of these, those that take base blocks by vectors. `input` and `output` (or nullptr) are the first base block's.
const SoftmaxVectorKernels *vector_kernels(const SoftmaxProblem &p, const void *input, const void *output) {
    const SoftmaxVectorStateKernels *const kernels = plain_kernels(p);
    if (kernels == nullptr || (output != nullptr && p.output_dtype != p.dtype)) {
        return nullptr;
    }
    const std::size_t elements = bytes_of_vector / traits_of(p.dtype).size;
    const bool aligned =
        is_aligned(input, bytes_of_vector) && steps_by_vectors(p.shape.outer, p.shape.outer_stride, elements) &&
        (output == nullptr || (is_aligned(output, bytes_of_vector) &&
                               steps_by_vectors(p.shape.outer, static_cast<std::ptrdiff_t>(p.shape.axis), elements)));
    return aligned ? &kernels->aligned : &kernels->unaligned;
}

const void *element_at(const void *array, ElementType type, std::uint64_t index) {
    return static_cast<const char *>(array) + index * traits_of(type).size;
}

// Runs the kernels that put(sequence, workspace) puts, with as much memory as bytes_on(gpu) says.
template <class Bytes, class Put>
std::int32_t run(void *callers, std::size_t callers_bytes, void *stream_handle, Bytes bytes_on, Put put) {
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    Workspace workspace(callers, callers_bytes, bytes_on(device.gpu()), stream);
    if (workspace.error() != cudaSuccess) {
        return report(workspace.error());
    }
    Sequence sequence(stream, device.gpu());
    put(sequence, workspace);
    const cudaError_t freed = workspace.finish();
    return report(sequence.error() != cudaSuccess ? sequence.error() : freed);
}

// Where the base blocks and runs of a piece's rows are.
SoftmaxStateArguments state_arguments(const SoftmaxStateProblem &problem, const GpuFacts &gpu) {
    const Shape &shape = problem.softmax.shape;
    const SoftmaxPiece piece = piece_of(problem.softmax, problem.first);
    SoftmaxStateArguments a{};
    a.problem = problem.softmax;
    a.vectors = arguments_of(problem.softmax, {});
    a.first = problem.first;
    a.places = {piece, shape.outer, shape.inner};
    a.payload = problem.state.payload();
    a.states = a.places.states();
    a.first_block = piece.first_block();
    a.blocks = piece.end_block() - piece.first_block();
    while (shape.inner == 1 && a.group < longest_group &&
           a.places.rows() * (a.blocks >> (a.group + 1)) >= gpu.on_all(softmax_state_policy(gpu).group_warps)) {
        ++a.group;
    }
    a.first_group = a.first_block >> a.group;
    a.groups = a.blocks == 0 ? 0 : ((piece.end_block() - 1) >> a.group) - a.first_group + 1;
    a.edge_elements = a.places.elements();
    a.header = problem.state.header;
    a.check = problem.check;
    std::uint64_t longest = 1;
    for (std::uint64_t at = a.first_block; at < piece.end_block();) {
        const BlockRun next = run_from(at, piece.end_block());
        longest = std::max(longest, next.blocks() >> a.group);
        at = next.end;
        a.run_begin[++a.run_count] = at - a.first_block;
    }
    a.run_lanes = static_cast<std::int32_t>(std::min<std::uint64_t>(longest, softmax_state_threads));
    return a;
}

// The kernel that makes all of a state of few rows, or nullptr: there is none for it.
const void *few_rows_kernel(const SoftmaxStateArguments &a, const GpuFacts &gpu) {
    const SoftmaxVectorStateKernels *const plain = plain_kernels(a.problem);
    const std::uint64_t rows = a.places.rows();
    return plain != nullptr && rows != 0 && a.blocks <= most_blocks_of_few_rows &&
                   rows * (a.blocks + 2) <= gpu.on_all(softmax_state_policy(gpu).few_row_warps)
               ? plain->few_rows
               : nullptr;
}

template <class Float, class Sum>
void put_state(Sequence &sequence, SoftmaxStateArguments &a) {
    const SoftmaxStateKernels &kernels = softmax_state_kernels<Float, Sum>();
    const GpuFacts &gpu = sequence.gpu();
    const std::uint64_t rows = a.places.rows();
    const bool are_rows = a.places.inner == 1;
    if (const void *const kernel = few_rows_kernel(a, gpu); kernel != nullptr) {
        const auto runs = static_cast<std::uint64_t>(a.run_count);
        const bool by_runs = runs > 1 && rows * runs <= gpu.on_all(softmax_state_policy(gpu).run_blocks);
        const std::uint64_t threads = ((by_runs ? static_cast<std::uint64_t>(a.run_lanes) : a.blocks) + 2) * warp_lanes;
        const std::uint64_t most = sizeof(Float) == 4 ? most_few_rows_threads : most_few_rows_threads / 2;
        sequence.put(kernel, rows, static_cast<int>(std::min(threads, most)), &a, 0, by_runs ? runs : 1);
        return;
    }
    const std::uint64_t blocks = are_rows ? blocks_of_warps(rows * a.groups) : blocks_of_threads(rows * a.blocks);
    const std::uint64_t edge_blocks =
        are_rows && a.edge_elements != 0 ? blocks_of_warps(2 * rows) : blocks_of_threads(a.edge_elements);
    a.edge_blocks = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(edge_blocks, 1, most_of_a_kind));
    const SoftmaxProblem &p = a.problem;
    const SoftmaxVectorKernels *vectors =
        vector_kernels(p, element_at(p.input, p.dtype, a.places.piece.left()), nullptr);
    sequence.put(vectors != nullptr ? vectors->rows
                 : are_rows         ? kernels.rows
                                    : kernels.columns,
                 std::min(blocks, most_of_a_kind) + a.edge_blocks, softmax_state_threads, &a);
    const auto jobs_of_block = static_cast<std::uint64_t>(softmax_state_threads / a.run_lanes);
    sequence.put(kernels.runs, divide_up(rows * static_cast<std::uint64_t>(a.run_count), jobs_of_block),
                 softmax_state_threads, &a);
}

template <class Float, class Sum>
void put_merge(Sequence &sequence, const SoftmaxMergeProblem &problem, const ExpectedState &left) {
    using View = SoftmaxStateView<Float, Sum>;
    using Bits = typename ExponentialConstants<Float>::Bits;
    const SoftmaxPiece whole{problem.left.first, problem.left.count + problem.right.count};
    const SoftmaxStatePlaces places{whole, problem.outer, problem.inner};
    const SoftmaxSeam seam = seam_of(problem.left, problem.right);
    SoftmaxSeam combined = seam;
    std::int32_t steps = 0;
    std::uint64_t right_sides = 0;
    for (auto side = combined.next(); side != SoftmaxSeam::Side::none; side = combined.next()) {
        right_sides |= std::uint64_t{side == SoftmaxSeam::Side::right} << steps++;
        combined.combine(side);
    }
    auto *const states = static_cast<KeptState<Sum> *>(problem.merged.payload());
    SoftmaxMergeArguments<Float, Sum> a{
        judged({left, problem.right_state}, problem.merged, problem.check, nullptr),
        View({problem.left, problem.outer, problem.inner}, left.payload()),
        View({problem.right, problem.outer, problem.inner}, problem.right_state.payload()),
        places,
        seam,
        combined,
        steps,
        right_sides,
        states,
        reinterpret_cast<Bits *>(states + places.states()),
        places.states(),
        places.elements(),
        0};
    if (seam.run.blocks() != 0) {
        a.seam_blocks = static_cast<std::uint32_t>(std::min(blocks_beside_judges(places.rows()), most_judging_blocks));
    }
    const std::uint64_t copied = a.states_count + a.elements_count;
    const std::uint64_t copying = std::clamp<std::uint64_t>(blocks_of_threads(copied), 1, most_judging_blocks);
    sequence.put(softmax_state_kernels<Float, Sum>().merge, a.seam_blocks + copying, softmax_state_threads, &a);
}

// The bytes of merge's left state where it has to be moved out of the way.
std::size_t moved_bytes(const SoftmaxMergeProblem &problem) {
    const bool in_place = problem.merged.bytes == problem.left_state.bytes;
    return in_place ? state_header_bytes + problem.left_state.header.payload_bytes : 0;
}

ExpectedState moved_state(Sequence &sequence, const ExpectedState &state, void *to, std::size_t bytes) {
    CopyStateArguments a{static_cast<const std::uint32_t *>(state.bytes), static_cast<std::uint32_t *>(to),
                         bytes / sizeof(std::uint32_t)};
    sequence.put(copy_state_kernel(), blocks_of_threads(a.words), softmax_state_threads, &a);
    return {to, state.header};
}

std::size_t rows_of_outputs(const Shape &shape) { return shape.axis == 0 ? 0 : shape.outer * shape.inner; }

// The kernel that makes all outputs of few rows, or nullptr: there is none for them.
const void *few_outputs_kernel(const SoftmaxFromStateProblem &problem, const GpuFacts &gpu) {
    const SoftmaxVectorStateKernels *const plain = plain_kernels(problem.softmax);
    const SoftmaxPiece piece = piece_of(problem.softmax, problem.first);
    const std::uint64_t rows = rows_of_outputs(problem.softmax.shape), blocks = piece.end_block() - piece.first_block();
    return plain != nullptr && rows != 0 && problem.softmax.output_dtype == problem.softmax.dtype &&
                   rows * (blocks + 2) <= gpu.on_all(softmax_state_policy(gpu).few_output_blocks)
               ? plain->few_row_outputs
               : nullptr;
}

// Of each row so many base blocks, cut ones too. What a row comes to is found by each block of threads that it has: as
// few as leave no multiprocessor without.
void put_few_outputs(Sequence &sequence, const void *kernel, std::uint64_t rows, std::uint64_t blocks,
                     void *arguments) {
    const GpuFacts &gpu = sequence.gpu();
    const std::uint64_t wanted =
        std::max<std::uint64_t>(gpu.on_all(softmax_state_policy(gpu).few_output_parts) / rows, 1);
    const auto warps = std::clamp<std::uint64_t>(divide_up(blocks, wanted) + 1, least_few_outputs_threads / warp_lanes,
                                                 most_few_outputs_threads / warp_lanes);
    sequence.put(kernel, rows, static_cast<int>(warps) * warp_lanes, arguments, 0, divide_up(blocks, warps - 1));
}

template <class Float, class Sum>
void put_outputs(Sequence &sequence, const SoftmaxFromStateProblem &problem, void *totals, std::int32_t *verdict) {
    const SoftmaxProblem &p = problem.softmax;
    const SoftmaxStateView<Float, Sum> whole({{0, problem.whole_count}, p.shape.outer, p.shape.inner},
                                             problem.whole.payload());
    const CutBlocks<Float, Sum> cut(problem);
    const SoftmaxStatePlaces places{cut.piece, p.shape.outer, p.shape.inner};
    SoftmaxFromStateArguments<Float, Sum> a{
        judged({problem.whole, problem.before, problem.after}, {}, problem.check, verdict),
        cut,
        arguments_of(p, {}),
        whole,
        whole.places.piece.runs(),
        rows_of_outputs(p.shape),
        static_cast<PieceTotals<Float, Sum> *>(totals),
        cut.piece.end_block() - cut.piece.first_block(),
        places.elements() == 0 && whole.places.piece.right() == 0,
        places.elements(),
        0};
    const SoftmaxStateKernels &kernels = softmax_state_kernels<Float, Sum>();
    const std::uint64_t jobs = a.rows * a.blocks;
    if (const void *const kernel = few_outputs_kernel(problem, sequence.gpu()); kernel != nullptr) {
        put_few_outputs(sequence, kernel, a.rows, a.blocks + 2, &a);
        return;
    }
    sequence.put(kernels.totals,
                 std::clamp<std::uint64_t>(
                     a.totals_by_threads ? divide_up(a.rows, std::uint64_t{softmax_totals_threads}) : a.rows, 1,
                     most_judging_blocks),
                 softmax_totals_threads, &a);
    if (p.shape.inner != 1) {
        a.edge_blocks = static_cast<std::uint32_t>(std::min(blocks_of_threads(a.edge_elements), most_of_a_kind));
        sequence.put(kernels.column_outputs, std::min(blocks_of_threads(jobs), most_of_a_kind) + a.edge_blocks,
                     softmax_state_threads, &a);
        return;
    }
    const std::uint64_t first = cut.piece.left();
    const SoftmaxVectorKernels *vectors =
        vector_kernels(p, element_at(p.input, p.dtype, first), element_at(p.output, p.output_dtype, first));
    sequence.put(vectors == nullptr ? kernels.row_outputs : vectors->row_outputs[p.log ? 1 : 0], blocks_of_warps(jobs),
                 softmax_state_threads, &a, vectors == nullptr ? 0 : softmax_state_warps * vectors->stage_bytes);
}

} // namespace

std::size_t softmax_state_workspace_bytes(const SoftmaxProblem &piece, std::uint64_t first) {
    const SoftmaxPiece of = piece_of(piece, first);
    return piece.shape.outer * piece.shape.inner * (of.end_block() - of.first_block()) * kept_state_bytes(piece.dtype);
}

std::int32_t softmax_state(const SoftmaxStateProblem &problem, void *stream) {
    const SoftmaxProblem &p = problem.softmax;
    SoftmaxStateArguments a;
    std::size_t bytes = 0;
    const auto bytes_on = [&](const GpuFacts &gpu) {
        a = state_arguments(problem, gpu);
        return bytes = few_rows_kernel(a, gpu) != nullptr ? 0 : softmax_state_workspace_bytes(p, problem.first);
    };
    return run(p.workspace, p.workspace_bytes, stream, bytes_on, [&](Sequence &sequence, Workspace &workspace) {
        a.block_states = bytes == 0 ? nullptr : workspace.take(bytes);
        with_softmax_arithmetic(p.dtype, [&]<class Float, class Sum>() {
            put_state<Float, Sum>(sequence, a);
            return cudaSuccess;
        });
    });
}

std::int32_t merge_softmax_states(const SoftmaxMergeProblem &problem, void *stream) {
    const std::size_t moved = moved_bytes(problem);
    const auto bytes_on = [=](const GpuFacts &) { return moved; };
    return run(nullptr, 0, stream, bytes_on, [&](Sequence &sequence, Workspace &workspace) {
        const ExpectedState left =
            moved == 0 ? problem.left_state : moved_state(sequence, problem.left_state, workspace.take(moved), moved);
        with_softmax_arithmetic(problem.dtype, [&]<class Float, class Sum>() {
            put_merge<Float, Sum>(sequence, problem, left);
            return cudaSuccess;
        });
    });
}

std::int32_t finish_softmax_state(const SoftmaxFinishProblem &problem, void *stream) {
    const auto bytes_on = [](const GpuFacts &) { return std::size_t{0}; };
    return run(nullptr, 0, stream, bytes_on, [&](Sequence &sequence, Workspace &) {
        with_softmax_arithmetic(problem.dtype, [&]<class Float, class Sum>() {
            const SoftmaxStateView<Float, Sum> state({{0, problem.count}, problem.outer, problem.inner},
                                                     problem.state.payload());
            SoftmaxFinishArguments<Float, Sum> a{judged({problem.state}, {}, problem.check, nullptr),
                                                 state,
                                                 state.places.piece.runs(),
                                                 state.places.rows(),
                                                 problem.output,
                                                 problem.output_dtype};
            sequence.put(softmax_state_kernels<Float, Sum>().finish,
                         std::clamp<std::uint64_t>(state.places.piece.right() == 0 ? blocks_of_threads(a.rows)
                                                                                   : blocks_beside_judges(a.rows),
                                                   1, most_judging_blocks),
                         softmax_state_threads, &a);
            return cudaSuccess;
        });
    });
}

std::int32_t softmax_from_state(const SoftmaxFromStateProblem &problem, void *stream) {
    const SoftmaxProblem &p = problem.softmax;
    const std::size_t totals_bytes = rows_of_outputs(p.shape) * sizeof(PieceTotals<double, double>);
    bool few = false;
    const auto bytes_on = [&](const GpuFacts &gpu) {
        few = few_outputs_kernel(problem, gpu) != nullptr;
        return few ? 0 : verdict_bytes + totals_bytes;
    };
    return run(nullptr, 0, stream, bytes_on, [&](Sequence &sequence, Workspace &workspace) {
        auto *const verdict = few ? nullptr : static_cast<std::int32_t *>(workspace.take(verdict_bytes));
        void *const totals = few ? nullptr : workspace.take(totals_bytes);
        with_softmax_arithmetic(p.dtype, [&]<class Float, class Sum>() {
            put_outputs<Float, Sum>(sequence, problem, totals, verdict);
            return cudaSuccess;
        });
    });
}

} // namespace wr::cuda
