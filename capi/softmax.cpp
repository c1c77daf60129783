// The entry points of softmax: check, resolve the defaults, choose the place, hand the job over.
#include "capi/calls.h"
#include "capi/checks.h"
#include "capi/offered.h"
#include "cuda/gpu.h"
#include "host/host.h"

#include <cmath>

namespace wr::capi {

namespace {

// From here on a double is nearer to infinity than to the largest f32: 2^128 - 2^103.
constexpr double rounds_to_infinite_f32 = 0x1.ffffffp127;
// Up to here a double becomes 0: it is no nearer to the smallest f32, 2^-149.
constexpr double rounds_to_zero_f32 = 0x1p-150;

// A problem without its pointers, and what the checks of the pointers need to know.
struct Softmax {
    SoftmaxProblem problem;
    Extent input, output;
    Extent logsumexp; // if it is wanted
    bool in_place_allowed;
};

// The type that logits are scaled and states are kept in, and of the logsumexp output.
ElementType state_type(ElementType dtype) { return dtype == ElementType::f64 ? ElementType::f64 : ElementType::f32; }

bool is_scale(double scale, ElementType type) {
    if (scale == 0.0 || type == ElementType::f64) {
        return std::isfinite(scale);
    }
    const double magnitude = std::fabs(scale);
    return magnitude > rounds_to_zero_f32 && magnitude < rounds_to_infinite_f32;
}

Status resolve_options(const wr_softmax_args &args, SoftmaxProblem &problem) {
    const auto empty_row = number_of(args.empty_row);
    if ((args.log != 0 && args.log != 1) || (empty_row != WR_EMPTY_ROW_NAN && empty_row != WR_EMPTY_ROW_ZERO) ||
        !is_scale(args.scale, state_type(problem.dtype))) {
        return Status::invalid_option;
    }
    problem.log = args.log == 1;
    problem.empty_row_zero = empty_row == WR_EMPTY_ROW_ZERO;
    problem.scale = args.scale == 0.0 ? 1.0 : args.scale;
    return Status::success;
}

// All that can be said without looking at a pointer.
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
    const std::size_t input_bytes = traits_of(types.dtype).size, output_bytes = traits_of(types.output_dtype).size;
    const Shape given{args.outer, args.axis, args.inner, args.outer_stride, args.axis_stride, args.inner_stride};
    Layout layout{};
    if (layout_of(given, input_bytes, layout) != Status::success ||
        extent_of({args.outer, args.axis, args.inner}, output_bytes, softmax.output) != Status::success ||
        extent_of({args.outer, args.inner}, traits_of(state_type(types.dtype)).size, softmax.logsumexp) !=
            Status::success) {
        return Status::size_overflow;
    }
    problem.shape = layout.shape;
    softmax.input = layout.extent;
    softmax.in_place_allowed = layout.contiguous && input_bytes == output_bytes;
    return Status::success;
}

// A row of no elements has no outputs, but it has a logsumexp.
bool has_outputs(const wr_softmax_args &args, const Softmax &softmax) {
    return softmax.output.high != 0 || (args.logsumexp != nullptr && softmax.logsumexp.high != 0);
}

std::size_t workspace_needed(const Softmax &softmax) {
    return softmax.output.high == 0 ? 0 : whole_workspace(cuda::softmax_workspace_bytes(softmax.problem));
}

// Checks the pointers and puts them into the problem. There are outputs.
Status attach_memory(const wr_softmax_args &args, Softmax &softmax) {
    SoftmaxProblem &problem = softmax.problem;
    MemoryRange input{}, output{}, logsumexp{}, workspace{};
    if (const Status status = locate(args.input, softmax.input, traits_of(problem.dtype).alignment, input);
        status != Status::success) {
        return status;
    }
    if (const Status status = locate(args.output, softmax.output, traits_of(problem.output_dtype).alignment, output);
        status != Status::success) {
        return status;
    }
    const Extent wanted = args.logsumexp == nullptr ? Extent{} : softmax.logsumexp;
    if (const Status status = locate(args.logsumexp, wanted, traits_of(state_type(problem.dtype)).alignment, logsumexp);
        status != Status::success) {
        return status;
    }
    if (const Status status =
            locate_workspace(args.workspace, args.workspace_bytes, workspace_needed(softmax), workspace);
        status != Status::success) {
        return status;
    }
    const bool in_place = softmax.in_place_allowed && args.input == args.output;
    if (any_two_overlap({in_place ? MemoryRange{} : input, output, logsumexp, workspace})) {
        return Status::overlap;
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
    if (args.mask != nullptr || args.lengths != nullptr) {
        return number_of(Status::unsupported);
    }
    if (!has_outputs(args, softmax)) {
        return number_of(Status::success);
    }
    if (const Status status = attach_memory(args, softmax); status != Status::success) {
        return number_of(status);
    }
    return stream == wr_host_stream() ? number_of(host::softmax(softmax.problem))
                                      : cuda::softmax(softmax.problem, stream);
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
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] { return wr::capi::run(*args, stream); });
}

wr_status wr_softmax_workspace_size(const wr_softmax_args *args, size_t *bytes) {
    if (args == nullptr || bytes == nullptr) {
        return WR_ERROR_NULL_POINTER;
    }
    return wr::capi::guarded([&] { return wr::capi::workspace_size(*args, *bytes); });
}
