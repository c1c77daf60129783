// The entry points of reductions: check, resolve the defaults, choose the place, hand the job over.
#include "capi/calls.h"
#include "capi/logsumexp.h"
#include "capi/reduction_call.h"
#include "cuda/gpu.h"
#include "host/host.h"

namespace wr::capi {

namespace {

// A problem without its pointers, and what the checks of the pointers need to know.
struct ReduceCall {
    ReduceProblem problem;
    Extent input, output;
    bool output_may_be_input;

    bool has_outputs() const { return output.high != 0; }
};

ReductionAsked asked_by(const wr_reduce_args &args) {
    return {number_of(args.op),
            number_of(args.dtype),
            number_of(args.output_dtype),
            number_of(args.accumulate_dtype),
            number_of(args.weights_dtype),
            number_of(args.nan_mode),
            args.add_to_output,
            args.weights != nullptr || number_of(args.weights_dtype) != 0};
}

// All that can be said without looking at where a pointer leads.
Status describe(const wr_reduce_args &args, ReduceCall &call) {
    if (!is_known_struct(args)) {
        return Status::struct_size;
    }
    Reduction what{};
    if (const Status status = resolve_reduction(asked_by(args), what); status != Status::success) {
        return status;
    }
    if (const Status status = check_strides({args.strides_given, any_stride(args)}); status != Status::success) {
        return status;
    }
    if (const Status status = check_indices(what, args.values != nullptr, args.axis); status != Status::success) {
        return status;
    }
    what.wide_integers = needs_wide_integers(what, args.axis);
    const std::size_t input_bytes = traits_of(what.dtype).size, output_bytes = traits_of(what.output_dtype).size;
    const Shape given{args.outer, args.axis, args.inner, args.outer_stride, args.axis_stride, args.inner_stride};
    Extent output{}, values{}, weights{};
    Layout layout{};
    if (extent_of({args.outer, args.inner}, output_bytes, output) != Status::success ||
        extent_of({args.outer, args.inner}, args.values == nullptr ? 0 : input_bytes, values) != Status::success ||
        extent_of({args.axis}, traits_of(what.weights_dtype).size, weights) != Status::success ||
        layout_of(given, args.strides_given == 1, input_bytes, layout) != Status::success) {
        return Status::size_overflow;
    }
    call.problem = {};
    call.problem.what = what;
    call.problem.shape = layout.shape;
    call.input = layout.extent;
    call.output = output;
    call.output_may_be_input = args.axis == 1 && is_contiguous(layout.shape) && input_bytes == output_bytes;
    return Status::success;
}

std::size_t workspace_needed(const ReduceCall &call) {
    if (!call.has_outputs()) {
        return 0;
    }
    const Operator op = call.problem.what.op;
    if (op == Operator::sum_exact) {
        return whole_workspace(cuda::exact_sum_workspace_bytes(call.problem));
    }
    return whole_workspace(op == Operator::logsumexp ? cuda::logsumexp_workspace_bytes(logsumexp_of(call.problem))
                                                     : cuda::reduce_workspace_bytes(call.problem));
}

// Checks the pointers and puts them into the problem. There are outputs.
Status attach_memory(const wr_reduce_args &args, ReduceCall &call) {
    ReduceProblem &problem = call.problem;
    const bool weighted = problem.what.weights_dtype != ElementType::none;
    if (const Status status = check_pointers(
            problem.what, {args.input, call.input, args.weights, weighted ? args.axis : 0, args.output, args.values,
                           args.outer * args.inner, args.workspace, args.workspace_bytes,
                           args.workspace == nullptr ? 0 : workspace_needed(call), call.output_may_be_input});
        status != Status::success) {
        return status;
    }
    problem.input = args.input;
    problem.weights = args.weights;
    problem.output = args.output;
    problem.values = args.values;
    problem.workspace = args.workspace;
    problem.workspace_bytes = args.workspace == nullptr ? 0 : args.workspace_bytes;
    return Status::success;
}

std::int32_t run(const wr_reduce_args &args, CUstream_st *stream) {
    ReduceCall call{};
    if (const Status status = describe(args, call); status != Status::success) {
        return number_of(status);
    }
    if (!call.has_outputs()) {
        return number_of(Status::success);
    }
    if (const Status status = attach_memory(args, call); status != Status::success) {
        return number_of(status);
    }
    const bool on_host = stream == wr_host_stream();
    if (call.problem.what.op == Operator::logsumexp) {
        const SoftmaxProblem softmax = logsumexp_of(call.problem);
        return on_host ? number_of(host::softmax(softmax)) : cuda::logsumexp(softmax, stream);
    }
    if (call.problem.what.op == Operator::sum_exact) {
        return on_host ? number_of(host::exact_sum(call.problem)) : cuda::exact_sum(call.problem, stream);
    }
    return on_host ? number_of(host::reduce(call.problem)) : cuda::reduce(call.problem, stream);
}

Status workspace_size(const wr_reduce_args &args, std::size_t &bytes) {
    ReduceCall call{};
    const Status status = describe(args, call);
    if (status == Status::success) {
        bytes = workspace_needed(call);
    }
    return status;
}

// The sum that a dot product of this operator is.
Status sum_of_operator(std::int32_t op, wr_op &sum) {
    ReductionAsked asked{};
    asked.op = op == 0 ? WR_SUM : op;
    asked.dtype = WR_F32;
    Reduction what{};
    if (resolve_reduction(asked, what) == Status::invalid_op) {
        return Status::invalid_op;
    }
    if (asked.op != WR_SUM && asked.op != WR_DOT_EXACT) {
        return Status::unsupported;
    }
    sum = asked.op == WR_SUM ? WR_SUM : WR_SUM_EXACT;
    return Status::success;
}

// A dot product is a sum of one row with weights, but is never in place.
Status sum_of(const wr_dot_args &args, wr_reduce_args &sum) {
    if (!is_known_struct(args)) {
        return Status::struct_size;
    }
    sum.struct_size = sizeof sum;
    if (const Status status = sum_of_operator(number_of(args.op), sum.op); status != Status::success) {
        return status;
    }
    copy_number(sum.dtype, args.dtype);
    copy_number(sum.weights_dtype, number_of(args.right_dtype) == 0 ? args.dtype : args.right_dtype);
    copy_number(sum.output_dtype, args.output_dtype);
    copy_number(sum.accumulate_dtype, args.accumulate_dtype);
    sum.add_to_output = args.add_to_output;
    sum.input = args.left;
    sum.weights = args.right;
    sum.output = args.output;
    sum.outer = 1;
    sum.axis = args.count;
    sum.inner = 1;
    sum.workspace = args.workspace;
    sum.workspace_bytes = args.workspace_bytes;
    return Status::success;
}

std::int32_t run_dot(const wr_dot_args &args, CUstream_st *stream) {
    wr_reduce_args sum{};
    if (const Status status = sum_of(args, sum); status != Status::success) {
        return number_of(status);
    }
    const bool in_place = args.count == 1 && args.left != nullptr && args.left == args.output;
    return in_place ? number_of(Status::overlap) : run(sum, stream);
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
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] {
        return wr::capi::with_args(*args, [&](const auto &known) { return wr::capi::run(known, stream); });
    });
}

wr_status wr_reduce_workspace_size(const wr_reduce_args *args, size_t *bytes) {
    if (args == nullptr || bytes == nullptr) {
        return WR_ERROR_NULL_POINTER;
    }
    return wr::capi::guarded([&] {
        return wr::capi::with_args(*args, [&](const auto &known) { return wr::capi::workspace_size(known, *bytes); });
    });
}

wr_status wr_dot(wr_dtype dtype, const void *left, const void *right, void *output, size_t count, CUstream_st *stream) {
    return wr::capi::guarded([&] {
        wr_dot_args args{};
        args.struct_size = sizeof args;
        wr::capi::copy_number(args.dtype, dtype);
        args.left = left;
        args.right = right;
        args.output = output;
        args.count = count;
        return wr::capi::run_dot(args, stream);
    });
}

wr_status wr_dot_ex(const wr_dot_args *args, CUstream_st *stream) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] {
        return wr::capi::with_args(*args, [&](const auto &known) { return wr::capi::run_dot(known, stream); });
    });
}

wr_status wr_dot_workspace_size(const wr_dot_args *args, size_t *bytes) {
    if (args == nullptr || bytes == nullptr) {
        return WR_ERROR_NULL_POINTER;
    }
    return wr::capi::guarded([&] {
        return wr::capi::with_args(*args, [&](const auto &known) {
            wr_reduce_args sum{};
            const wr::Status status = wr::capi::sum_of(known, sum);
            return status == wr::Status::success ? wr::capi::workspace_size(sum, *bytes) : status;
        });
    });
}
