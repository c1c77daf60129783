// The entry points of softmax: check, resolve the defaults, choose the place, hand the job over.
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
struct Softmax {
    SoftmaxProblem problem;
    Extent input, output;
    Extent row_values; // of logsumexp, of maximum and of scales, where they are there
    bool in_place_allowed;
};

Status resolve_options(const wr_softmax_args &args, SoftmaxProblem &problem) {
    const auto empty_row = number_of(args.empty_row);
    if (const Status status = check_strides({args.strides_given, any_stride(args)}); status != Status::success) {
        return status;
    }
    if ((args.log != 0 && args.log != 1) || (empty_row != WR_EMPTY_ROW_NAN && empty_row != WR_EMPTY_ROW_ZERO) ||
        !is_scale(args.scale, args.scales, state_type(problem.dtype))) {
        return Status::invalid_option;
    }
    problem.log = args.log == 1;
    problem.empty_row_zero = empty_row == WR_EMPTY_ROW_ZERO;
    problem.scale = scale_or_one(args.scale);
    problem.scales = args.scales;
    return Status::success;
}

// The sizes of all arrays but the selection's. Rows that are ragged share the elements of one row.
Status measure(const wr_softmax_args &args, const Shape &given, Softmax &softmax) {
    SoftmaxProblem &problem = softmax.problem;
    const std::size_t input_bytes = traits_of(problem.dtype).size, output_bytes = traits_of(problem.output_dtype).size;
    const bool ragged = problem.selection.ragged;
    Shape array = given;
    array.outer = ragged ? smaller<std::size_t>(given.outer, 1) : given.outer;
    Layout layout{};
    if (layout_of(array, args.strides_given == 1, input_bytes, layout) != Status::success ||
        extent_of({array.outer, array.axis, array.inner}, output_bytes, softmax.output) != Status::success ||
        extent_of({args.outer, args.inner}, traits_of(problem.logsumexp_dtype).size, softmax.row_values) !=
            Status::success) {
        return Status::size_overflow;
    }
    problem.shape = layout.shape;
    problem.shape.outer = given.outer;
    softmax.input = layout.extent;
    softmax.in_place_allowed = is_contiguous(layout.shape) && input_bytes == output_bytes;
    return Status::success;
}

// All that can be said without looking at where a pointer leads.
Status describe(const wr_softmax_args &args, Softmax &softmax) {
    if (!is_known_struct(args)) {
        return Status::struct_size;
    }
    SoftmaxTypes types{};
    if (const Status status = resolve_softmax_types(number_of(args.dtype), number_of(args.output_dtype), types);
        status != Status::success) {
        return status;
    }
    SoftmaxProblem &problem = softmax.problem;
    problem.dtype = types.dtype;
    problem.output_dtype = types.output_dtype;
    if (const Status status = resolve_options(args, problem); status != Status::success) {
        return status;
    }
    const Shape given{args.outer, args.axis, args.inner, args.outer_stride, args.axis_stride, args.inner_stride};
    if (const Status status =
            resolve_selection(selection_asked(args), given, args.strides_given == 1, problem.selection);
        status != Status::success) {
        return status;
    }
    problem.logsumexp_dtype = state_type(types.dtype);
    problem.maximum = args.maximum;
    return measure(args, given, softmax);
}

// A row of no elements has no outputs, but it has a logsumexp and a maximum.
bool has_outputs(const wr_softmax_args &args, const Softmax &softmax) {
    const bool row_values_wanted = args.logsumexp != nullptr || args.maximum != nullptr;
    return softmax.output.high != 0 || (row_values_wanted && softmax.row_values.high != 0);
}

std::size_t workspace_needed(const Softmax &softmax) {
    if (softmax.output.high == 0) {
        return 0;
    }
    return whole_workspace(cuda::softmax_workspace_bytes(softmax.problem));
}

// Of logsumexp, maximum or scales.
Status locate_row_values(const void *pointer, const Softmax &softmax, MemoryRange &range) {
    const Extent wanted = pointer == nullptr ? Extent{} : softmax.row_values;
    return locate(pointer, wanted, traits_of(softmax.problem.logsumexp_dtype).alignment, range);
}

// Checks the pointers and puts them into the problem. There are outputs.
Status attach_memory(const wr_softmax_args &args, Softmax &softmax) {
    SoftmaxProblem &problem = softmax.problem;
    MemoryRange input{}, output{}, logsumexp{}, maximum{}, scales{}, workspace{};
    SelectionRanges selection{};
    const std::size_t elements = elements_in(softmax.output, problem.output_dtype);
    const Status found[] = {locate(args.input, softmax.input, traits_of(problem.dtype).alignment, input),
                            locate(args.output, softmax.output, traits_of(problem.output_dtype).alignment, output),
                            locate_row_values(args.logsumexp, softmax, logsumexp),
                            locate_row_values(args.maximum, softmax, maximum),
                            locate_row_values(args.scales, softmax, scales),
                            locate_selection(problem.selection, problem.shape, elements, selection),
                            locate_workspace(args.workspace, args.workspace_bytes,
                                             args.workspace == nullptr ? 0 : workspace_needed(softmax), workspace)};
    for (const Status status : found) {
        if (status != Status::success) {
            return status;
        }
    }
    const bool in_place = softmax.in_place_allowed && args.input == args.output;
    const MemoryRange written[] = {output, logsumexp, maximum, workspace};
    if (any_two_overlap(written)) {
        return Status::overlap;
    }
    for (const MemoryRange &read :
         {in_place ? MemoryRange{} : input, scales, selection.mask, selection.lengths, selection.offsets}) {
        if (overlaps_any(read, written)) {
            return Status::overlap;
        }
    }
    problem.input = args.input;
    problem.output = args.output;
    problem.logsumexp = args.logsumexp;
    problem.workspace = args.workspace;
    problem.workspace_bytes = args.workspace == nullptr ? 0 : args.workspace_bytes;
    return Status::success;
}

std::int32_t run(const wr_softmax_args &args, CUstream_st *stream) {
    Softmax softmax{};
    if (const Status status = describe(args, softmax); status != Status::success) {
        return number_of(status);
    }
    if (!has_outputs(args, softmax)) {
        return number_of(Status::success);
    }
    if (const Status status = attach_memory(args, softmax); status != Status::success) {
        return number_of(status);
    }
    const SoftmaxProblem &problem = softmax.problem;
    if (stream == wr_host_stream()) {
        const Status status = check_offsets(problem.selection, problem.shape.outer, problem.shape.axis);
        return number_of(status == Status::success ? host::softmax(problem) : status);
    }
    return cuda::softmax(problem, stream);
}

Status workspace_size(const wr_softmax_args &args, std::size_t &bytes) {
    Softmax softmax{};
    const Status status = describe(args, softmax);
    if (status == Status::success) {
        bytes = workspace_needed(softmax);
    }
    return status;
}

std::int32_t run_short(bool log, const wr_dtype &dtype, const void *input, void *output, std::size_t outer,
                       std::size_t axis, std::size_t inner, CUstream_st *stream) {
    wr_softmax_args args{};
    args.struct_size = sizeof args;
    copy_number(args.dtype, dtype);
    args.log = log ? 1 : 0;
    args.input = input;
    args.output = output;
    args.outer = outer;
    args.axis = axis;
    args.inner = inner;
    return run(args, stream);
}

} // namespace

} // namespace wr::capi

wr_status wr_softmax(wr_dtype dtype, const void *input, void *output, size_t outer, size_t axis, size_t inner,
                     CUstream_st *stream) {
    return wr::capi::guarded(
        [&] { return wr::capi::run_short(false, dtype, input, output, outer, axis, inner, stream); });
}

wr_status wr_log_softmax(wr_dtype dtype, const void *input, void *output, size_t outer, size_t axis, size_t inner,
                         CUstream_st *stream) {
    return wr::capi::guarded(
        [&] { return wr::capi::run_short(true, dtype, input, output, outer, axis, inner, stream); });
}

wr_status wr_softmax_ex(const wr_softmax_args *args, CUstream_st *stream) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] {
        return wr::capi::with_args(*args, [&](const auto &known) { return wr::capi::run(known, stream); });
    });
}

wr_status wr_softmax_workspace_size(const wr_softmax_args *args, size_t *bytes) {
    if (args == nullptr || bytes == nullptr) {
        return WR_ERROR_NULL_POINTER;
    }
    return wr::capi::guarded([&] {
        return wr::capi::with_args(*args, [&](const auto &known) { return wr::capi::workspace_size(known, *bytes); });
    });
}
