// The entry points of softmax's gradient: check, resolve the defaults, choose the place, hand the job over.
#include "capi/calls.h"
#include "capi/checks.h"
#include "capi/offered.h"
#include "capi/selection.h"
#include "capi/softmax_options.h"
#include "cuda/gpu.h"
#include "host/host.h"

namespace wr::capi {

namespace {

// A problem without its pointers, and what the checks of the pointers need to know.
struct Backward {
    SoftmaxBackwardProblem problem;
    bool from_logits;
    Extent saved, row_values, output_gradient, input_gradient;
    bool may_be_saved, may_be_output_gradient; // in place
};

Status resolve_options(const wr_softmax_backward_args &args, Backward &backward) {
    SoftmaxBackwardProblem &problem = backward.problem;
    const auto empty_row = number_of(args.empty_row);
    const auto is_flag = [](std::int32_t flag) { return flag == 0 || flag == 1; };
    if (!is_flag(args.log) || !is_flag(args.add_to_input_gradient) || !is_flag(empty_row) ||
        !is_scale(args.scale, args.scales, state_type(problem.dtype))) {
        return Status::invalid_option;
    }
    if (const Status status = check_strides({args.strides_given, any_stride(args)}); status != Status::success) {
        return status;
    }
    if (args.output != nullptr && (args.input != nullptr || args.logsumexp != nullptr)) {
        return Status::unsupported;
    }
    problem.log = args.log == 1;
    problem.empty_row_zero = empty_row == WR_EMPTY_ROW_ZERO;
    problem.add_to_input_gradient = args.add_to_input_gradient == 1;
    problem.scale = scale_or_one(args.scale);
    problem.scales = args.scales;
    backward.from_logits = args.input != nullptr || args.logsumexp != nullptr;
    return Status::success;
}

// The sizes of all arrays but the selection's. Rows that are ragged share the elements of one row.
Status measure(const Shape &saved, const Shape &gradient, bool strided, Backward &backward) {
    SoftmaxBackwardProblem &problem = backward.problem;
    const std::size_t outer = saved.outer;
    const bool ragged = problem.selection.ragged;
    Shape saved_array = saved, gradient_array = gradient;
    saved_array.outer = gradient_array.outer = ragged ? smaller<std::size_t>(outer, 1) : outer;
    const std::size_t saved_bytes = traits_of(problem.dtype).size;
    const std::size_t output_gradient_bytes = traits_of(problem.output_gradient_dtype).size;
    const std::size_t input_gradient_bytes = traits_of(problem.input_gradient_dtype).size;
    Layout saved_layout{}, gradient_layout{};
    if (layout_of(saved_array, strided, saved_bytes, saved_layout) != Status::success ||
        layout_of(gradient_array, strided, output_gradient_bytes, gradient_layout) != Status::success ||
        extent_of({saved_array.outer, saved.axis, saved.inner}, input_gradient_bytes, backward.input_gradient) !=
            Status::success ||
        extent_of({outer, saved.inner}, traits_of(state_type(problem.dtype)).size, backward.row_values) !=
            Status::success) {
        return Status::size_overflow;
    }
    problem.shape = saved_layout.shape;
    problem.shape.outer = outer;
    problem.gradient_outer_stride = gradient_layout.shape.outer_stride;
    problem.gradient_axis_stride = gradient_layout.shape.axis_stride;
    problem.gradient_inner_stride = gradient_layout.shape.inner_stride;
    backward.saved = saved_layout.extent;
    backward.output_gradient = gradient_layout.extent;
    backward.may_be_saved = is_contiguous(saved_layout.shape) && saved_bytes == input_gradient_bytes;
    backward.may_be_output_gradient =
        is_contiguous(gradient_layout.shape) && output_gradient_bytes == input_gradient_bytes;
    return Status::success;
}

// All that can be said without looking at where a pointer leads.
Status describe(const wr_softmax_backward_args &args, Backward &backward) {
    if (!is_known_struct(args)) {
        return Status::struct_size;
    }
    SoftmaxBackwardTypes types{};
    if (const Status status = resolve_softmax_backward_types(
            number_of(args.dtype), number_of(args.output_gradient_dtype), number_of(args.input_gradient_dtype), types);
        status != Status::success) {
        return status;
    }
    SoftmaxBackwardProblem &problem = backward.problem;
    problem.dtype = types.dtype;
    problem.output_gradient_dtype = types.output_gradient_dtype;
    problem.input_gradient_dtype = types.input_gradient_dtype;
    if (const Status status = resolve_options(args, backward); status != Status::success) {
        return status;
    }
    const Shape saved{args.outer, args.axis, args.inner, args.outer_stride, args.axis_stride, args.inner_stride};
    const Shape gradient{args.outer,
                         args.axis,
                         args.inner,
                         args.gradient_outer_stride,
                         args.gradient_axis_stride,
                         args.gradient_inner_stride};
    const bool strided = args.strides_given == 1;
    if (const Status status = resolve_selection(selection_asked(args), saved, strided, problem.selection);
        status != Status::success) {
        return status;
    }
    return measure(saved, gradient, strided, backward);
}

bool has_outputs(const Backward &backward) { return backward.input_gradient.high != 0; }

std::size_t workspace_needed(const Backward &backward) {
    return has_outputs(backward) ? whole_workspace(cuda::softmax_backward_workspace_bytes(backward.problem)) : 0;
}

// Checks the pointers and puts them into the problem. There are outputs.
Status attach_memory(const wr_softmax_backward_args &args, Backward &backward) {
    SoftmaxBackwardProblem &problem = backward.problem;
    const void *saved_pointer = backward.from_logits ? args.input : args.output;
    MemoryRange saved{}, logsumexp{}, scales{}, output_gradient{}, input_gradient{}, workspace{};
    SelectionRanges selection{};
    const std::size_t elements = elements_in(backward.input_gradient, problem.input_gradient_dtype);
    const Status found[] = {locate(saved_pointer, backward.saved, traits_of(problem.dtype).alignment, saved),
                            locate(args.logsumexp, backward.from_logits ? backward.row_values : Extent{},
                                   traits_of(state_type(problem.dtype)).alignment, logsumexp),
                            locate(args.scales, args.scales != nullptr ? backward.row_values : Extent{},
                                   traits_of(state_type(problem.dtype)).alignment, scales),
                            locate(args.output_gradient, backward.output_gradient,
                                   traits_of(problem.output_gradient_dtype).alignment, output_gradient),
                            locate(args.input_gradient, backward.input_gradient,
                                   traits_of(problem.input_gradient_dtype).alignment, input_gradient),
                            locate_selection(problem.selection, problem.shape, elements, selection),
                            locate_workspace(args.workspace, args.workspace_bytes,
                                             args.workspace == nullptr ? 0 : workspace_needed(backward), workspace)};
    for (const Status status : found) {
        if (status != Status::success) {
            return status;
        }
    }
    const bool is_saved = backward.may_be_saved && saved_pointer == args.input_gradient;
    const bool is_output_gradient = backward.may_be_output_gradient && args.output_gradient == args.input_gradient;
    const MemoryRange written[] = {input_gradient, workspace};
    if (any_two_overlap(written)) {
        return Status::overlap;
    }
    // In place, an array's own range is that of the input's gradient.
    for (const MemoryRange &read :
         {is_saved ? MemoryRange{} : saved, is_output_gradient ? MemoryRange{} : output_gradient, logsumexp, scales,
          selection.mask, selection.lengths, selection.offsets}) {
        if (overlaps_any(read, written)) {
            return Status::overlap;
        }
    }
    problem.output = backward.from_logits ? nullptr : args.output;
    problem.input = args.input;
    problem.logsumexp = args.logsumexp;
    problem.output_gradient = args.output_gradient;
    problem.input_gradient = args.input_gradient;
    problem.workspace = args.workspace;
    problem.workspace_bytes = args.workspace == nullptr ? 0 : args.workspace_bytes;
    return Status::success;
}

std::int32_t run(const wr_softmax_backward_args &args, CUstream_st *stream) {
    Backward backward{};
    if (const Status status = describe(args, backward); status != Status::success) {
        return number_of(status);
    }
    if (!has_outputs(backward)) {
        return number_of(Status::success);
    }
    if (const Status status = attach_memory(args, backward); status != Status::success) {
        return number_of(status);
    }
    const SoftmaxBackwardProblem &problem = backward.problem;
    if (stream == wr_host_stream()) {
        const Status status = check_offsets(problem.selection, problem.shape.outer, problem.shape.axis);
        return number_of(status == Status::success ? host::softmax_backward(problem) : status);
    }
    return cuda::softmax_backward(problem, stream);
}

Status workspace_size(const wr_softmax_backward_args &args, std::size_t &bytes) {
    Backward backward{};
    const Status status = describe(args, backward);
    if (status == Status::success) {
        bytes = workspace_needed(backward);
    }
    return status;
}

std::int32_t run_short(bool log, const wr_dtype &dtype, const void *output, const void *output_gradient,
                       void *input_gradient, std::size_t outer, std::size_t axis, std::size_t inner,
                       CUstream_st *stream) {
    wr_softmax_backward_args args{};
    args.struct_size = sizeof args;
    copy_number(args.dtype, dtype);
    args.log = log ? 1 : 0;
    args.output = output;
    args.output_gradient = output_gradient;
    args.input_gradient = input_gradient;
    args.outer = outer;
    args.axis = axis;
    args.inner = inner;
    return run(args, stream);
}

} // namespace

} // namespace wr::capi

wr_status wr_softmax_backward(wr_dtype dtype, const void *output, const void *output_gradient, void *input_gradient,
                              size_t outer, size_t axis, size_t inner, CUstream_st *stream) {
    return wr::capi::guarded([&] {
        return wr::capi::run_short(false, dtype, output, output_gradient, input_gradient, outer, axis, inner, stream);
    });
}

wr_status wr_log_softmax_backward(wr_dtype dtype, const void *output, const void *output_gradient, void *input_gradient,
                                  size_t outer, size_t axis, size_t inner, CUstream_st *stream) {
    return wr::capi::guarded([&] {
        return wr::capi::run_short(true, dtype, output, output_gradient, input_gradient, outer, axis, inner, stream);
    });
}

wr_status wr_softmax_backward_ex(const wr_softmax_backward_args *args, CUstream_st *stream) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] {
        return wr::capi::with_args(*args, [&](const auto &known) { return wr::capi::run(known, stream); });
    });
}

wr_status wr_softmax_backward_workspace_size(const wr_softmax_backward_args *args, size_t *bytes) {
    if (args == nullptr || bytes == nullptr) {
        return WR_ERROR_NULL_POINTER;
    }
    return wr::capi::guarded([&] {
        return wr::capi::with_args(*args, [&](const auto &known) { return wr::capi::workspace_size(known, *bytes); });
    });
}
