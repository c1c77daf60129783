// The entry points of reductions: check, resolve the defaults, choose the place, hand the job over.
#include "capi/calls.h"
#include "capi/checks.h"
#include "capi/offered.h"
#include "cuda/gpu.h"
#include "host/host.h"

namespace wr::capi {

namespace {

// A problem without its pointers, and what the checks of the pointers need to know.
struct Reduction {
    ReduceProblem problem;
    Extent input, output;
    bool in_place_allowed;

    bool has_outputs() const { return output.high != 0; }
};

Status check_reserved(const wr_reduce_args &args) {
    const bool reserved_is_zero =
        number_of(args.nan_mode) == WR_NAN_PROPAGATE && args.add_to_output == 0 && number_of(args.weights_dtype) == 0;
    return reserved_is_zero ? Status::success : Status::unsupported;
}

// All that can be said without looking at a pointer.
Status describe(const wr_reduce_args &args, Reduction &reduction) {
    if (!is_known_struct(args)) {
        return Status::struct_size;
    }
    ReduceTypes types{};
    if (const Status status =
            resolve_reduce_types(number_of(args.op), number_of(args.dtype), number_of(args.output_dtype),
                                 number_of(args.accumulate_dtype), types);
        status != Status::success) {
        return status;
    }
    if (const Status status = check_reserved(args); status != Status::success) {
        return status;
    }
    const std::size_t input_bytes = traits_of(types.dtype).size, output_bytes = traits_of(types.output_dtype).size;
    const Shape given{args.outer, args.axis, args.inner, args.outer_stride, args.axis_stride, args.inner_stride};
    Extent output{};
    Layout layout{};
    if (extent_of({args.outer, args.inner}, output_bytes, output) != Status::success ||
        layout_of(given, input_bytes, layout) != Status::success) {
        return Status::size_overflow;
    }
    reduction.problem = {
        types.op, types.dtype, types.output_dtype, types.accumulate_dtype, nullptr, nullptr, layout.shape, nullptr, 0};
    reduction.input = layout.extent;
    reduction.output = output;
    reduction.in_place_allowed = args.axis == 1 && layout.contiguous && input_bytes == output_bytes;
    return Status::success;
}

std::size_t workspace_needed(const Reduction &reduction) {
    return reduction.has_outputs() ? whole_workspace(cuda::reduce_workspace_bytes(reduction.problem)) : 0;
}

// Checks the pointers and puts them into the problem. There are outputs.
Status attach_memory(const wr_reduce_args &args, Reduction &reduction) {
    ReduceProblem &problem = reduction.problem;
    MemoryRange input{}, output{}, workspace{};
    if (const Status status = locate(args.input, reduction.input, traits_of(problem.dtype).alignment, input);
        status != Status::success) {
        return status;
    }
    if (const Status status = locate(args.output, reduction.output, traits_of(problem.output_dtype).alignment, output);
        status != Status::success) {
        return status;
    }
    if (const Status status =
            locate_workspace(args.workspace, args.workspace_bytes, workspace_needed(reduction), workspace);
        status != Status::success) {
        return status;
    }
    const bool in_place = reduction.in_place_allowed && args.input == args.output;
    if (any_two_overlap({in_place ? MemoryRange{} : input, output, workspace})) {
        return Status::overlap;
    }
    problem.input = args.input;
    problem.output = args.output;
    problem.workspace = args.workspace;
    problem.workspace_bytes = args.workspace == nullptr ? 0 : args.workspace_bytes;
    return Status::success;
}

std::int32_t run(const wr_reduce_args &args, CUstream_st *stream) {
    Reduction reduction{};
    if (const Status status = describe(args, reduction); status != Status::success) {
        return number_of(status);
    }
    if (args.weights != nullptr) {
        return number_of(Status::unsupported);
    }
    if (!reduction.has_outputs()) {
        return number_of(Status::success);
    }
    if (const Status status = attach_memory(args, reduction); status != Status::success) {
        return number_of(status);
    }
    return stream == wr_host_stream() ? number_of(host::reduce(reduction.problem))
                                      : cuda::reduce(reduction.problem, stream);
}

Status workspace_size(const wr_reduce_args &args, std::size_t &bytes) {
    Reduction reduction{};
    const Status status = describe(args, reduction);
    if (status == Status::success) {
        bytes = workspace_needed(reduction);
    }
    return status;
}

} // namespace

} // namespace wr::capi

wr_status wr_reduce(wr_op op, wr_dtype dtype, const void *input, void *output, size_t outer, size_t axis, size_t inner,
                    CUstream_st *stream) {
    return wr::capi::guarded([&] {
        wr_reduce_args args{};
        args.struct_size = sizeof args;
        wr::capi::copy_number(args.op, op);
        wr::capi::copy_number(args.dtype, dtype);
        args.input = input;
        args.output = output;
        args.outer = outer;
        args.axis = axis;
        args.inner = inner;
        return wr::capi::run(args, stream);
    });
}

wr_status wr_reduce_ex(const wr_reduce_args *args, CUstream_st *stream) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] { return wr::capi::run(*args, stream); });
}

wr_status wr_reduce_workspace_size(const wr_reduce_args *args, size_t *bytes) {
    if (args == nullptr || bytes == nullptr) {
        return WR_ERROR_NULL_POINTER;
    }
    return wr::capi::guarded([&] { return wr::capi::workspace_size(*args, *bytes); });
}
