// Softmax along an axis of shards.
#include "capi/checks.h"
#include "capi/nccl/sharded_call.h"
#include "capi/offered.h"
#include "capi/selection.h"

#include <initializer_list>

namespace wr::capi {

namespace {

struct ShardedSoftmax {
    SoftmaxTypes types;
    wr_state_args common;
    ShardStates states;
};

wr_state_args common_of(const wr_softmax_args &args, const SoftmaxTypes &types) {
    wr_state_args common{};
    common.struct_size = sizeof common;
    common.op = WR_LOGSUMEXP;
    copy_number(common.dtype, args.dtype);
    common.output_dtype = types.dtype == ElementType::f64 ? WR_F64 : WR_F32;
    common.outer = args.outer;
    common.inner = args.inner;
    common.scale = args.scale;
    return common;
}

wr_status describe(const wr_softmax_args &args, const Shards &shards, ShardedSoftmax &found) {
    if (!is_known_struct(args)) {
        return WR_ERROR_STRUCT_SIZE;
    }
    if (const Status status = check_shards(shards, args.axis); status != Status::success) {
        return public_status(status);
    }
    if (args.maximum != nullptr || args.offsets != nullptr || args.scales != nullptr) {
        return WR_ERROR_UNSUPPORTED;
    }
    if (const Status status = resolve_softmax_types(number_of(args.dtype), number_of(args.output_dtype), found.types);
        status != Status::success) {
        return public_status(status);
    }
    found.common = common_of(args, found.types);
    return found.states.measure(found.common, shards, ShardStates::Wanted::sides_too);
}

struct Ranges {
    MemoryRange input, output, logsumexp, check, workspace;
    SelectionRanges selection;
};

Status locate_all(const wr_softmax_args &args, const std::int32_t *check, const ShardedSoftmax &softmax,
                  const Layout &input, Ranges &ranges) {
    const ElementTraits in = traits_of(softmax.types.dtype), out = traits_of(softmax.types.output_dtype);
    const std::size_t of_sums = softmax.types.dtype == ElementType::f64 ? 8 : 4;
    const std::size_t summed = args.logsumexp == nullptr ? 0 : args.outer;
    const std::size_t needed = args.workspace == nullptr ? 0 : softmax.states.bytes();
    Extent extent{};
    Selection selection{};
    for (const Status status :
         {extent_of({args.outer, args.axis, args.inner}, out.size, extent),
          locate(args.input, input.extent, in.alignment, ranges.input),
          locate(args.output, extent, out.alignment, ranges.output),
          locate_array(args.logsumexp, {summed, args.inner}, of_sums, of_sums, ranges.logsumexp),
          locate_check(check, ranges.check),
          locate_workspace(args.workspace, args.workspace_bytes, needed, ranges.workspace),
          resolve_selection(selection_asked(args), input.shape, args.strides_given == 1, selection),
          locate_selection(selection, input.shape, elements_in(extent, softmax.types.output_dtype),
                           ranges.selection)}) {
        if (status != Status::success) {
            return status;
        }
    }
    return Status::success;
}

// The outputs, which the states' calls see when the job is under way already, and what must not overlap them.
Status check_arrays(const wr_softmax_args &args, const Shards &, const std::int32_t *check,
                    const ShardedSoftmax &softmax) {
    const std::size_t input_bytes = traits_of(softmax.types.dtype).size;
    const Shape given{args.outer, args.axis, args.inner, args.outer_stride, args.axis_stride, args.inner_stride};
    Layout input{};
    if (const Status status = check_strides({args.strides_given, any_stride(args)}); status != Status::success) {
        return status;
    }
    if (const Status status = layout_of(given, args.strides_given == 1, input_bytes, input);
        status != Status::success) {
        return status;
    }
    Ranges at{};
    if (const Status status = locate_all(args, check, softmax, input, at); status != Status::success) {
        return status;
    }
    const bool in_place = args.input == args.output && is_contiguous(input.shape) &&
                          input_bytes == traits_of(softmax.types.output_dtype).size;
    const MemoryRange written[] = {at.output, at.logsumexp, at.check, at.workspace};
    const MemoryRange beside_output[] = {at.logsumexp, at.check, at.workspace};
    const bool input_is_hit = in_place ? overlaps_any(at.input, beside_output) : overlaps_any(at.input, written);
    const bool any = input_is_hit || any_two_overlap(written) || overlaps_any(at.selection.mask, written) ||
                     overlaps_any(at.selection.lengths, written);
    return any ? Status::overlap : Status::success;
}

wr_status merge(const ShardStates &states, MergedState (&sides)[2], MergedState &all, CUstream_st *stream) {
    wr_status status = states.merge_before(sides[0], stream);
    status = status == WR_SUCCESS ? states.merge_behind(sides[1], stream) : status;
    return status == WR_SUCCESS ? states.merge_sides(sides[0], sides[1], all, stream) : status;
}

wr_status finish_logsumexp(const wr_softmax_args &args, const ShardedSoftmax &softmax, const MergedState &all,
                           CUstream_st *stream) {
    wr_state_args finish = softmax.common;
    finish.count = all.count;
    finish.state = all.bytes;
    finish.state_bytes = all.room;
    finish.output = args.logsumexp;
    return wr_state_finish(&finish, stream);
}

wr_status put_on_stream(const wr_softmax_args &args, const Shards &shards, std::int32_t *check,
                        const ShardedSoftmax &softmax, const Communicator &communicator, CUstream_st *stream) {
    const ShardStates &states = softmax.states;
    wr_softmax_args piece = args;
    piece.workspace = states.scratch();
    piece.workspace_bytes = states.scratch_bytes();
    if (const wr_status status =
            wr_softmax_state(&piece, shards.first(), states.own(), states.own_bytes(), nullptr, stream);
        status != WR_SUCCESS) {
        return status;
    }
    if (const Status status = states.exchange(communicator, stream); status != Status::success) {
        return public_status(status);
    }
    MergedState sides[2]{}, all{};
    if (const wr_status status = merge(states, sides, all, stream); status != WR_SUCCESS) {
        return status;
    }
    if (args.logsumexp != nullptr) {
        if (const wr_status status = finish_logsumexp(args, softmax, all, stream); status != WR_SUCCESS) {
            return status;
        }
    }
    return wr_softmax_from_state(&piece, shards.first(), shards.total(), all.bytes, sides[0].bytes, sides[1].bytes,
                                 check, stream);
}

} // namespace

} // namespace wr::capi

wr_status wr_nccl_softmax(const wr_softmax_args *args, const size_t *counts, int32_t *check, ncclComm *communicator,
                          CUstream_st *stream) {
    return wr::capi::run_on_shards<wr::capi::ShardedSoftmax>(args, counts, check, communicator, stream);
}

wr_status wr_nccl_softmax_workspace_size(const wr_softmax_args *args, const size_t *counts, size_t ranks, size_t rank,
                                         size_t *bytes) {
    return wr::capi::workspace_on_shards<wr::capi::ShardedSoftmax>(args, {counts, ranks, rank}, bytes);
}
