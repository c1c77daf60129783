// Puts the jobs of states on a stream: a reduction for each node, and one kernel more.
#include "cuda/common/launch.h"
#include "cuda/gpu.h"
#include "cuda/reduce/accumulators.h"
#include "cuda/state/arguments.h"

#include <algorithm>

namespace wr::cuda {

namespace {

// Threads take several outputs each beyond so many blocks.
constexpr std::size_t most_state_blocks = 4096;

std::size_t blocks_for(std::uint64_t outputs) {
    return std::clamp<std::size_t>(divide_up(outputs, std::uint64_t{state_threads}), 1, most_state_blocks);
}

cudaError_t launch_state(const void *kernel, std::size_t blocks, void *arguments, cudaStream_t stream, GpuFacts gpu) {
    Launch how{kernel, blocks, state_threads};
    how.dependent = gpu.dependent_launch;
    return launch(how, arguments, stream);
}

// The reduction of the whole piece.
ReduceProblem reduction_of_piece(const StateReduceProblem &problem) {
    ReduceProblem piece = problem.reduce;
    piece.output = payload_of(problem.state);
    return piece;
}

// Most bytes of any node: they are done one after the other, in the same memory.
template <class BytesOf>
std::size_t most_bytes(const StateReduceProblem &problem, BytesOf bytes_of) {
    std::size_t most = 0;
    for_each_node(problem, cudaSuccess, [&](const ReduceProblem &node, void *) {
        most = std::max(most, bytes_of(node));
        return cudaSuccess;
    });
    return most;
}

bool has_no_outputs(const StateFormat &format) { return format.outputs() == 0; }

bool has_some_nodes(const StateReduceProblem &problem) { return nodes_of(problem.format, piece_of(problem)) > 1; }

// Whether all nodes are reduced at once.
bool is_side_by_side(const StateReduceProblem &problem, GpuFacts gpu) {
    return has_some_nodes(problem) && has_nodes_side_by_side(problem.reduce, problem.first, gpu);
}

std::size_t bytes_on(const StateReduceProblem &problem, GpuFacts gpu) {
    if (has_no_outputs(problem.format)) {
        return 0;
    }
    if (problem.format.kind == StateKind::exact) {
        return exact_sum_workspace_bytes(problem.reduce);
    }
    if (is_side_by_side(problem, gpu)) {
        return nodes_workspace_bytes(problem.reduce, problem.first, gpu);
    }
    return most_bytes(problem, [&](const ReduceProblem &node) { return accumulators_workspace_bytes(node, gpu); });
}

cudaError_t reduce_nodes(const StateReduceProblem &problem, void *memory, std::size_t bytes, cudaStream_t stream,
                         GpuFacts gpu) {
    if (has_no_outputs(problem.format)) {
        return cudaSuccess;
    }
    if (problem.format.kind == StateKind::exact) {
        Workspace whole(memory, bytes, bytes, stream);
        return sum_to_exact_words(reduction_of_piece(problem), whole, stream, gpu);
    }
    if (is_side_by_side(problem, gpu)) {
        Workspace whole(memory, bytes, bytes, stream);
        return reduce_to_nodes(reduction_of_piece(problem), problem.first, whole, stream, gpu);
    }
    return for_each_node(problem, cudaSuccess, [&](ReduceProblem node, void *accumulators) {
        node.output = accumulators;
        Workspace again(memory, bytes, bytes, stream);
        return reduce_to_accumulators(node, again, stream, gpu);
    });
}

// Whether an accumulator of a reduction by itself may not yet be what the format says. (Later stages add up words of a
// field as integers.)
bool are_to_be_sealed(StateKind kind) {
    switch (kind) {
    case StateKind::place_32:
    case StateKind::place_64:
    case StateKind::sum_koalabear:
    case StateKind::sum_babybear:
    case StateKind::sum_mersenne31:
        return true;
    default:
        return !is_order_free(kind);
    }
}

cudaError_t seal(const StateReduceProblem &problem, cudaStream_t stream, GpuFacts gpu) {
    StateSealArguments a{};
    const Piece piece = piece_of(problem);
    a.header = header_of(problem.format, piece);
    a.state = problem.state;
    a.check = problem.check;
    a.kind = problem.format.kind;
    a.layout = problem.format.exact();
    a.accumulators = !is_side_by_side(problem, gpu) && are_to_be_sealed(a.kind)
                         ? nodes_of(problem.format, piece) * problem.format.outputs()
                         : 0;
    a.first = problem.first;
    return launch_state(seal_state_kernel(), blocks_for(a.accumulators), &a, stream, gpu);
}

} // namespace

std::size_t state_workspace_bytes(const StateReduceProblem &problem) {
    if (has_no_outputs(problem.format)) {
        return 0;
    }
    if (problem.format.kind == StateKind::exact) {
        return exact_sum_workspace_bytes(problem.reduce);
    }
    const std::size_t one_by_one =
        most_bytes(problem, [](const ReduceProblem &node) { return accumulators_workspace_bytes(node); });
    return has_some_nodes(problem) ? std::max(one_by_one, nodes_workspace_bytes(problem.reduce, problem.first))
                                   : one_by_one;
}

std::int32_t reduce_state(const StateReduceProblem &problem, void *stream_handle) {
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    const std::size_t needed =
        problem.reduce.workspace == nullptr ? bytes_on(problem, device.gpu()) : problem.reduce.workspace_bytes;
    Workspace workspace(problem.reduce, needed, stream);
    if (workspace.error() != cudaSuccess) {
        return report(workspace.error());
    }
    void *memory = needed == 0 ? nullptr : workspace.take(needed);
    cudaError_t launched = reduce_nodes(problem, memory, needed, stream, device.gpu());
    if (launched == cudaSuccess) {
        launched = seal(problem, stream, device.gpu());
    }
    const cudaError_t freed = workspace.finish();
    return report(launched != cudaSuccess ? launched : freed);
}

std::int32_t merge_states(const StateMergeProblem &problem, void *stream_handle) {
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    const Piece whole{problem.left.first, problem.left.count + problem.right.count};
    StateMergeArguments a{};
    a.judged = judged({{problem.left_state, header_of(problem.format, problem.left)},
                       {problem.right_state, header_of(problem.format, problem.right)}},
                      {problem.merged, header_of(problem.format, whole)}, problem.check, nullptr);
    a.left = problem.left_state;
    a.right = problem.right_state;
    a.merged = problem.merged;
    a.kind = problem.format.kind;
    a.layout = problem.format.exact();
    a.nodes = merge_of(problem.format, problem.left, problem.right);
    const std::size_t outputs = problem.format.outputs(), blocks = blocks_for(outputs);
    const bool judged_before = blocks > 1 && a.merged == a.left;
    a.judges = true;
    cudaError_t error = cudaSuccess;
    if (judged_before) {
        error = launch_state(merge_states_kernel(), 1, &a, stream, device.gpu());
        a.judges = false;
    }
    a.outputs = outputs;
    if (error == cudaSuccess) {
        error = launch_state(merge_states_kernel(), blocks, &a, stream, device.gpu());
    }
    return report(error);
}

std::int32_t finish_state(const StateFinishProblem &problem, void *stream_handle) {
    const auto stream = static_cast<cudaStream_t>(stream_handle);
    const DeviceScope device(stream);
    if (device.error() != cudaSuccess) {
        return report(device.error());
    }
    const Piece whole{0, problem.count};
    StateFinishArguments a{};
    a.judged = judged({{problem.state, header_of(problem.format, whole)}}, {}, problem.check, nullptr);
    a.state = problem.state;
    a.output = problem.output;
    a.kind = problem.format.kind;
    a.layout = problem.format.exact();
    a.output_type = problem.format.what.output_dtype;
    a.nodes = static_cast<std::int32_t>(nodes_of(problem.format, whole));
    a.outputs = problem.format.outputs();
    a.finish = finish_of(problem.format.what, problem.count, problem.values);
    return report(launch_state(finish_state_kernel(), blocks_for(a.outputs), &a, stream, device.gpu()));
}

} // namespace wr::cuda
