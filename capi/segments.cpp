// The entry points of segmented reductions: check, resolve the defaults, choose the place, hand the job over.
#include "capi/calls.h"
#include "capi/logsumexp.h"
#include "capi/reduction_call.h"
#include "cuda/gpu.h"
#include "host/host.h"

#include <limits>

namespace wr::capi {

namespace {

// What is resolved before a pointer is looked at.
struct SegmentsCall {
    SegmentsProblem problem;
    Extent offsets;
};

ReductionAsked asked_by(const wr_reduce_segments_args &args) {
    return {number_of(args.op),
            number_of(args.dtype),
            number_of(args.output_dtype),
            number_of(args.accumulate_dtype),
            0,
            number_of(args.nan_mode),
            args.add_to_output,
            false};
}

Status resolve_offsets_type(std::int32_t asked, ElementType &type) {
    if (asked == WR_I64 || asked == WR_I32 || asked == 0) {
        type = asked == WR_I32 ? ElementType::i32 : ElementType::i64;
        return Status::success;
    }
    const bool is_dtype = wr_dtype_size(static_cast<wr_dtype>(asked)) != 0;
    return is_dtype ? Status::unsupported : Status::invalid_dtype;
}

Status describe(const wr_reduce_segments_args &args, SegmentsCall &call) {
    if (!is_known_struct(args)) {
        return Status::struct_size;
    }
    Reduction what{};
    if (const Status status = resolve_reduction(asked_by(args), what); status != Status::success) {
        return status;
    }
    if (what.op == Operator::sum_exact) {
        return Status::unsupported;
    }
    if (const Status status = check_indices(what, args.values != nullptr, 0); status != Status::success) {
        return status;
    }
    constexpr std::uint64_t any_length = std::numeric_limits<std::uint64_t>::max();
    what.wide_integers = needs_wide_integers(what, args.input_count == 0 ? any_length : args.input_count);
    ElementType offsets_type{};
    if (const Status status = resolve_offsets_type(number_of(args.offsets_dtype), offsets_type);
        status != Status::success) {
        return status;
    }
    constexpr std::size_t most_segments = std::numeric_limits<std::int64_t>::max() / 16 - 1;
    Extent input{};
    if (args.segments > most_segments ||
        extent_of({args.input_count}, traits_of(what.dtype).size, input) != Status::success ||
        extent_of({args.segments + 1}, traits_of(offsets_type).size, call.offsets) != Status::success) {
        return Status::size_overflow;
    }
    call.problem = {};
    call.problem.what = what;
    call.problem.offsets_type = offsets_type;
    call.problem.segments = args.segments;
    call.problem.input_count = args.input_count;
    return Status::success;
}

std::size_t workspace_needed(const SegmentsCall &call) {
    if (call.problem.segments == 0) {
        return 0;
    }
    return whole_workspace(call.problem.what.op == Operator::logsumexp
                               ? cuda::logsumexp_workspace_bytes(logsumexp_of(call.problem))
                               : cuda::segments_workspace_bytes(call.problem));
}

// The host device can read the offsets, and so knows where the input ends and how long segments are.
Status check_offsets(const SegmentsProblem &problem, Extent &input) {
    const auto offset = [&](std::size_t i) {
        return static_cast<std::int64_t>(load_integer(problem.offsets_type, problem.offsets, i));
    };
    std::int64_t before = 0, longest = 0;
    for (std::size_t i = 0; i <= problem.segments; ++i) {
        const std::int64_t here = offset(i);
        if (here < before) {
            return Status::invalid_offsets;
        }
        longest = i == 0 ? 0 : larger(longest, here - before);
        before = here;
    }
    if (const Status status = check_indices(problem.what, problem.values != nullptr, static_cast<std::size_t>(longest));
        status != Status::success) {
        return status;
    }
    const auto last = static_cast<std::size_t>(before);
    if (problem.input_count != 0 && last > problem.input_count) {
        return Status::invalid_offsets;
    }
    const std::int64_t bytes = traits_of(problem.what.dtype).size;
    if (__builtin_mul_overflow(offset(0), bytes, &input.low) || __builtin_mul_overflow(before, bytes, &input.high)) {
        return Status::size_overflow;
    }
    return Status::success;
}

// Checks the pointers and puts them into the problem. There are segments.
Status attach_memory(const wr_reduce_segments_args &args, SegmentsCall &call, bool on_host) {
    SegmentsProblem &problem = call.problem;
    MemoryRange offsets{};
    if (const Status status = locate(args.offsets, call.offsets, traits_of(problem.offsets_type).alignment, offsets);
        status != Status::success) {
        return status;
    }
    problem.input = args.input;
    problem.output = args.output;
    problem.values = args.values;
    problem.offsets = args.offsets;
    problem.workspace = args.workspace;
    problem.workspace_bytes = args.workspace == nullptr ? 0 : args.workspace_bytes;
    // On a GPU one byte stands for an input of unknown extent: the pointer must be there and aligned.
    Extent input{0, 1};
    if (on_host) {
        if (const Status status = check_offsets(problem, input); status != Status::success) {
            return status;
        }
    }
    return check_pointers(problem.what,
                          {args.input, input, nullptr, 0, args.output, args.values, args.segments, args.workspace,
                           args.workspace_bytes, args.workspace == nullptr ? 0 : workspace_needed(call), false},
                          offsets);
}

std::int32_t run(const wr_reduce_segments_args &args, CUstream_st *stream) {
    SegmentsCall call{};
    if (const Status status = describe(args, call); status != Status::success) {
        return number_of(status);
    }
    if (args.segments == 0) {
        return number_of(Status::success);
    }
    const bool on_host = stream == wr_host_stream();
    if (const Status status = attach_memory(args, call, on_host); status != Status::success) {
        return number_of(status);
    }
    if (call.problem.what.op == Operator::logsumexp) {
        const SoftmaxProblem softmax = logsumexp_of(call.problem);
        return on_host ? number_of(host::softmax(softmax)) : cuda::logsumexp(softmax, stream);
    }
    return on_host ? number_of(host::reduce_segments(call.problem)) : cuda::reduce_segments(call.problem, stream);
}

} // namespace

} // namespace wr::capi

wr_status wr_reduce_segments(wr_op op, wr_dtype dtype, const void *input, void *output, const int64_t *offsets,
                             size_t segments, CUstream_st *stream) {
    return wr::capi::guarded([&] {
        wr_reduce_segments_args args{};
        args.struct_size = sizeof args;
        wr::capi::copy_number(args.op, op);
        wr::capi::copy_number(args.dtype, dtype);
        args.input = input;
        args.output = output;
        args.offsets = offsets;
        args.segments = segments;
        return wr::capi::run(args, stream);
    });
}

wr_status wr_reduce_segments_ex(const wr_reduce_segments_args *args, CUstream_st *stream) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] { return wr::capi::run(*args, stream); });
}

wr_status wr_reduce_segments_workspace_size(const wr_reduce_segments_args *args, size_t *bytes) {
    if (args == nullptr || bytes == nullptr) {
        return WR_ERROR_NULL_POINTER;
    }
    return wr::capi::guarded([&] {
        wr::capi::SegmentsCall call{};
        const wr::Status status = wr::capi::describe(*args, call);
        if (status == wr::Status::success) {
            *bytes = wr::capi::workspace_needed(call);
        }
        return status;
    });
}
