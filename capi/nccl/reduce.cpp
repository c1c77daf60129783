// Reductions of an axis of shards.
#include "capi/nccl/sharded_call.h"
#include "capi/reduction_call.h"

namespace wr::capi {

namespace {

wr_state_args common_of(const wr_reduce_args &args) {
    wr_state_args common{};
    common.struct_size = sizeof common;
    copy_number(common.op, args.op);
    copy_number(common.dtype, args.dtype);
    copy_number(common.output_dtype, args.output_dtype);
    copy_number(common.accumulate_dtype, args.accumulate_dtype);
    copy_number(common.nan_mode, args.nan_mode);
    // Ranks that have weights and one that has no elements say the same.
    const bool defaulted = args.weights != nullptr && number_of(args.weights_dtype) == 0;
    copy_number(common.weights_dtype, defaulted ? args.dtype : args.weights_dtype);
    common.outer = args.outer;
    common.inner = args.inner;
    return common;
}

// The reduction, resolved, and the states of its shards.
struct ShardedReduction {
    Reduction what;
    wr_state_args common;
    ShardStates states;
};

wr_status describe(const wr_reduce_args &args, const Shards &shards, ShardedReduction &found) {
    if (!is_known_struct(args)) {
        return WR_ERROR_STRUCT_SIZE;
    }
    if (const Status status = check_shards(shards, args.axis); status != Status::success) {
        return public_status(status);
    }
    found.common = common_of(args);
    const ReductionAsked asked{number_of(args.op),
                               number_of(args.dtype),
                               number_of(args.output_dtype),
                               number_of(args.accumulate_dtype),
                               number_of(found.common.weights_dtype),
                               number_of(args.nan_mode),
                               args.add_to_output,
                               number_of(found.common.weights_dtype) != 0};
    if (const Status status = resolve_reduction(asked, found.what); status != Status::success) {
        return public_status(status);
    }
    if (found.what.add_to_output) {
        return WR_ERROR_UNSUPPORTED;
    }
    return found.states.measure(found.common, shards, ShardStates::Wanted::whole);
}

// The output, which the states' calls see when the job is under way already, and what must not overlap it.
Status check_arrays(const wr_reduce_args &args, const Shards &shards, const std::int32_t *check,
                    const ShardedReduction &reduction) {
    const Reduction &what = reduction.what;
    if (const Status status = check_indices(what, args.values != nullptr, shards.total()); status != Status::success) {
        return status;
    }
    if (const Status status = check_strides({args.strides_given, any_stride(args)}); status != Status::success) {
        return status;
    }
    const Shape given{args.outer, args.axis, args.inner, args.outer_stride, args.axis_stride, args.inner_stride};
    Layout layout{};
    MemoryRange checked{};
    if (const Status status = layout_of(given, args.strides_given == 1, traits_of(what.dtype).size, layout);
        status != Status::success) {
        return status;
    }
    if (const Status status = locate_check(check, checked); status != Status::success) {
        return status;
    }
    Extent output{};
    if (const Status status = extent_of({args.outer, args.inner}, traits_of(what.output_dtype).size, output);
        status != Status::success) {
        return status;
    }
    const std::size_t outputs = elements_in(output, what.output_dtype);
    Pointers pointers{};
    pointers.input = args.input;
    pointers.input_extent = layout.extent;
    pointers.weights = args.weights;
    pointers.weights_count = what.weights_dtype == ElementType::none || outputs == 0 ? 0 : args.axis;
    pointers.output = args.output;
    pointers.values = args.values;
    pointers.outputs = outputs;
    pointers.workspace = args.workspace;
    pointers.workspace_bytes = args.workspace_bytes;
    pointers.workspace_needed = args.workspace == nullptr ? 0 : reduction.states.bytes();
    return check_pointers(what, pointers, checked);
}

wr_status reduce_shard(const wr_reduce_args &args, const Shards &shards, const ShardedReduction &reduction,
                       CUstream_st *stream) {
    wr_state_args state = reduction.common;
    state.first = shards.first();
    state.count = shards.count();
    state.input = args.input;
    state.weights = args.weights;
    state.strides_given = args.strides_given;
    state.outer_stride = args.outer_stride;
    state.axis_stride = args.axis_stride;
    state.inner_stride = args.inner_stride;
    state.state = reduction.states.own();
    state.state_bytes = reduction.states.own_bytes();
    state.workspace = reduction.states.scratch();
    state.workspace_bytes = reduction.states.scratch_bytes();
    return wr_state_reduce(&state, stream);
}

wr_status put_on_stream(const wr_reduce_args &args, const Shards &shards, std::int32_t *check,
                        const ShardedReduction &reduction, const Communicator &communicator, CUstream_st *stream) {
    if (const wr_status status = reduce_shard(args, shards, reduction, stream); status != WR_SUCCESS) {
        return status;
    }
    if (const Status status = reduction.states.exchange(communicator, stream); status != Status::success) {
        return public_status(status);
    }
    MergedState all{};
    if (const wr_status status = reduction.states.merge_all(all, stream); status != WR_SUCCESS) {
        return status;
    }
    wr_state_args finish = reduction.common;
    finish.count = all.count;
    finish.state = all.bytes;
    finish.state_bytes = all.room;
    finish.output = args.output;
    finish.values = args.values;
    finish.check = check;
    return wr_state_finish(&finish, stream);
}

} // namespace

} // namespace wr::capi

wr_status wr_nccl_reduce(const wr_reduce_args *args, const size_t *counts, int32_t *check, ncclComm *communicator,
                         CUstream_st *stream) {
    return wr::capi::run_on_shards<wr::capi::ShardedReduction>(args, counts, check, communicator, stream);
}

wr_status wr_nccl_reduce_workspace_size(const wr_reduce_args *args, const size_t *counts, size_t ranks, size_t rank,
                                        size_t *bytes) {
    return wr::capi::workspace_on_shards<wr::capi::ShardedReduction>(args, {counts, ranks, rank}, bytes);
}
