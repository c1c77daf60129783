// The entry points of states of reductions: check, resolve the defaults, choose the place, hand the job over.
#include "capi/calls.h"
#include "capi/reduction_call.h"
#include "capi/softmax_state.h"
#include "capi/state_format.h"
#include "cuda/gpu.h"
#include "host/host.h"

namespace wr::capi {

namespace {

bool is_logsumexp(const wr_state_args &args) { return number_of(args.op) == WR_LOGSUMEXP; }

Piece left_piece(const wr_state_args &args) { return {args.first, args.count}; }

Status describe(const wr_state_args &args, StateFormat &format) {
    if (!is_known_struct(args)) {
        return Status::struct_size;
    }
    if (const Status status = resolve_state_format(args, format); status != Status::success) {
        return status;
    }
    return check_strides({args.strides_given, any_stride(args)});
}

// The reduction of a piece, without pointers.
Status describe_piece(const wr_state_args &args, StateReduceProblem &problem, Extent &input) {
    Layout layout{};
    const Shape given{args.outer, args.count, args.inner, args.outer_stride, args.axis_stride, args.inner_stride};
    const std::size_t bytes = traits_of(problem.format.what.dtype).size;
    if (layout_of(given, args.strides_given == 1, bytes, layout) != Status::success) {
        return Status::size_overflow;
    }
    problem.reduce.what = problem.format.what;
    problem.reduce.shape = layout.shape;
    problem.first = args.first;
    input = layout.extent;
    return Status::success;
}

std::size_t workspace_needed(const StateReduceProblem &problem) {
    return whole_workspace(cuda::state_workspace_bytes(problem));
}

Status attach_memory(const wr_state_args &args, const Extent &input_extent, StateReduceProblem &problem) {
    MemoryRange input{}, weights{}, state{}, check{}, workspace{};
    const ElementTraits element = traits_of(problem.format.what.dtype);
    const ElementTraits weight = traits_of(problem.format.what.weights_dtype);
    const std::size_t weights_count = weight.size == 0 || problem.format.outputs() == 0 ? 0 : args.count;
    Status status = locate(args.input, input_extent, element.alignment, input);
    if (status == Status::success) {
        status = locate_array(args.weights, {weights_count}, weight.size, weight.alignment, weights);
    }
    if (status == Status::success) {
        status = locate_state(args.state, args.state_bytes, problem.format, piece_of(problem), state);
    }
    if (status == Status::success) {
        status = locate_check(args.check, check);
    }
    if (status == Status::success) {
        status = locate_workspace(args.workspace, args.workspace_bytes,
                                  args.workspace == nullptr ? 0 : workspace_needed(problem), workspace);
    }
    if (status != Status::success) {
        return status;
    }
    const MemoryRange written[] = {state, check, workspace};
    if (any_two_overlap(written) || overlaps_any(input, written) || overlaps_any(weights, written)) {
        return Status::overlap;
    }
    problem.reduce.input = args.input;
    problem.reduce.weights = weights_count == 0 ? nullptr : args.weights;
    problem.reduce.workspace = args.workspace;
    problem.reduce.workspace_bytes = args.workspace == nullptr ? 0 : args.workspace_bytes;
    problem.state = args.state;
    problem.check = args.check;
    return Status::success;
}

std::int32_t run_reduce(const wr_state_args &args, CUstream_st *stream) {
    StateReduceProblem problem{};
    Extent input{};
    Status status = describe(args, problem.format);
    if (status == Status::success) {
        status = describe_piece(args, problem, input);
    }
    if (status == Status::success) {
        status = attach_memory(args, input, problem);
    }
    if (status != Status::success) {
        return number_of(status);
    }
    return stream == wr_host_stream() ? number_of(host::reduce_state(problem)) : cuda::reduce_state(problem, stream);
}

std::int32_t run_merge(const wr_state_args &args, CUstream_st *stream) {
    StateMergeProblem problem{};
    if (const Status status = describe(args, problem.format); status != Status::success) {
        return number_of(status);
    }
    problem.left = left_piece(args);
    std::size_t bytes = 0;
    if (const Status status = measure_state(problem.format, problem.left, bytes); status != Status::success) {
        return number_of(status);
    }
    problem.right = {problem.left.end(), args.right_count};
    if (problem.format.kind == StateKind::exact) {
        problem.left = problem.right = {0, 0};
    }
    MemoryRange left{}, right{}, merged{}, check{};
    Status status = locate_state(args.state, args.state_bytes, problem.format, problem.left, left);
    if (status == Status::success) {
        status = locate_state(args.right, args.right_bytes, problem.format, problem.right, right);
    }
    if (status == Status::success) {
        const Piece whole{problem.left.first, problem.left.count + problem.right.count};
        status = locate_state(args.merged, args.merged_bytes, problem.format, whole, merged);
    }
    if (status == Status::success) {
        status = locate_check(args.check, check);
    }
    if (status != Status::success) {
        return number_of(status);
    }
    const bool in_place = args.merged == args.state;
    const MemoryRange written[] = {merged, check};
    const bool left_is_hit = in_place ? overlaps_any(left, {&check, 1}) : overlaps_any(left, written);
    if (any_two_overlap(written) || left_is_hit || overlaps_any(right, written)) {
        return number_of(Status::overlap);
    }
    problem.left_state = args.state;
    problem.right_state = args.right;
    problem.merged = args.merged;
    problem.check = args.check;
    return stream == wr_host_stream() ? number_of(host::merge_states(problem)) : cuda::merge_states(problem, stream);
}

Status attach_output(const wr_state_args &args, StateFinishProblem &problem) {
    const Reduction &what = problem.format.what;
    const ElementTraits output_element = traits_of(what.output_dtype), value = traits_of(what.dtype);
    const std::size_t valued = args.values == nullptr ? 0 : args.outer;
    MemoryRange state{}, output{}, values{}, check{};
    Status status = locate_state(args.state, args.state_bytes, problem.format, {0, problem.count}, state);
    if (status == Status::success) {
        status =
            locate_array(args.output, {args.outer, args.inner}, output_element.size, output_element.alignment, output);
    }
    if (status == Status::success) {
        status = locate_array(args.values, {valued, args.inner}, value.size, value.alignment, values);
    }
    if (status == Status::success) {
        status = locate_check(args.check, check);
    }
    if (status != Status::success) {
        return status;
    }
    const MemoryRange written[] = {output, values, check};
    if (any_two_overlap(written) || overlaps_any(state, written)) {
        return Status::overlap;
    }
    problem.state = args.state;
    problem.output = args.output;
    problem.values = args.values;
    problem.check = args.check;
    return Status::success;
}

std::int32_t run_finish(const wr_state_args &args, CUstream_st *stream) {
    StateFinishProblem problem{};
    if (const Status status = describe(args, problem.format); status != Status::success) {
        return number_of(status);
    }
    if (const Status status = check_indices(problem.format.what, args.values != nullptr, args.count);
        status != Status::success) {
        return number_of(status);
    }
    const bool exact = problem.format.kind == StateKind::exact;
    if (args.first != 0 && !exact) {
        return number_of(Status::not_neighbour);
    }
    problem.count = exact ? 0 : args.count;
    if (const Status status = attach_output(args, problem); status != Status::success) {
        return number_of(status);
    }
    return stream == wr_host_stream() ? number_of(host::finish_state(problem)) : cuda::finish_state(problem, stream);
}

Status sizes(const wr_state_args &args, std::size_t &state_bytes, std::size_t *workspace_bytes) {
    StateReduceProblem problem{};
    Extent input{};
    std::size_t bytes = 0;
    Status status = describe(args, problem.format);
    if (status == Status::success) {
        status = measure_state(problem.format, left_piece(args), bytes);
    }
    if (status == Status::success && workspace_bytes != nullptr) {
        status = describe_piece(args, problem, input);
    }
    if (status != Status::success) {
        return status;
    }
    if (workspace_bytes != nullptr) {
        *workspace_bytes = workspace_needed(problem);
    }
    state_bytes = bytes;
    return Status::success;
}

} // namespace

} // namespace wr::capi

wr_status wr_state_size(const wr_state_args *args, size_t *state_bytes, size_t *workspace_bytes) {
    if (args == nullptr || state_bytes == nullptr) {
        return WR_ERROR_NULL_POINTER;
    }
    return wr::capi::guarded([&] {
        return wr::capi::is_logsumexp(*args) ? wr::capi::softmax_state_size(*args, *state_bytes, workspace_bytes)
                                             : wr::capi::sizes(*args, *state_bytes, workspace_bytes);
    });
}

wr_status wr_state_reduce(const wr_state_args *args, CUstream_st *stream) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] {
        return wr::capi::is_logsumexp(*args) ? wr::capi::softmax_state_reduce(*args, stream)
                                             : wr::capi::run_reduce(*args, stream);
    });
}

wr_status wr_state_merge(const wr_state_args *args, CUstream_st *stream) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] {
        return wr::capi::is_logsumexp(*args) ? wr::capi::softmax_state_merge(*args, stream)
                                             : wr::capi::run_merge(*args, stream);
    });
}

wr_status wr_state_finish(const wr_state_args *args, CUstream_st *stream) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] {
        return wr::capi::is_logsumexp(*args) ? wr::capi::softmax_state_finish(*args, stream)
                                             : wr::capi::run_finish(*args, stream);
    });
}
