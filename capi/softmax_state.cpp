// The entry points of softmax's states, and WR_LOGSUMEXP of those of reductions'.
#include "capi/softmax_state.h"
#include "capi/calls.h"
#include "capi/checks.h"
#include "capi/offered.h"
#include "capi/selection.h"
#include "capi/softmax_options.h"
#include "capi/state_format.h"
#include "cuda/gpu.h"
#include "host/host.h"

namespace wr::capi {

namespace {

constexpr std::uint64_t most_elements = std::uint64_t{1} << 63;

bool ends_below(std::uint64_t first, std::uint64_t count) {
    return first < most_elements && count < most_elements - first;
}

// A state as its place in the axis has it.
struct SizedState {
    StateHeader header;
    Extent extent; // with the header
};

// `piece` ends where a number of 63 bits may.
Status size_state(ElementType dtype, double scale, const SoftmaxPiece &piece, std::size_t outer, std::size_t inner,
                  SizedState &found) {
    const SoftmaxStatePlaces one_row{piece, 1, 1};
    if (extent_of({outer, inner, one_row.bytes(dtype)}, 1, found.extent) != Status::success ||
        found.extent.high > std::numeric_limits<std::int64_t>::max() - std::int64_t{state_header_bytes}) {
        return Status::size_overflow;
    }
    found.extent.high += std::int64_t{state_header_bytes};
    found.header = softmax_state_header(dtype, scale, {piece, outer, inner});
    return Status::success;
}

Status locate_state(const void *bytes, const SizedState &state, MemoryRange &range) {
    return locate(bytes, state.extent, state_alignment, range);
}

// The same where it is known how many bytes there are.
Status locate_state(const void *bytes, std::size_t there, const SizedState &state, MemoryRange &range) {
    const Status status = locate_state(bytes, state, range);
    return status == Status::success && there < static_cast<std::size_t>(state.extent.high) ? Status::invalid_state
                                                                                            : status;
}

Status first_failure(std::initializer_list<Status> all) {
    for (const Status status : all) {
        if (status != Status::success) {
            return status;
        }
    }
    return Status::success;
}

bool overlap(std::span<const MemoryRange> written, std::initializer_list<MemoryRange> read) {
    for (const MemoryRange &range : read) {
        if (overlaps_any(range, written)) {
            return true;
        }
    }
    return any_two_overlap(written);
}

// What the host device found, in *check too where it is about states.
std::int32_t told(Status status, std::int32_t *check) {
    const bool is_judgement = status == Status::success || status == Status::invalid_state ||
                              status == Status::state_mismatch || status == Status::not_neighbour;
    if (check != nullptr && is_judgement) {
        *check = number_of(status);
    }
    return number_of(status);
}

template <class Problem>
std::int32_t run(const Problem &problem, CUstream_st *stream, Status (*on_host)(const Problem &),
                 std::int32_t (*on_gpu)(const Problem &, void *)) {
    return stream == wr_host_stream() ? told(on_host(problem), problem.check) : on_gpu(problem, stream);
}

// A piece of softmax's rows without its pointers.
struct Piece {
    SoftmaxProblem problem;
    Extent input, output;
    SoftmaxPiece place;
    bool in_place_allowed;
};

Status describe(const wr_softmax_args &args, std::size_t first, Piece &piece) {
    if (!is_known_struct(args)) {
        return Status::struct_size;
    }
    SoftmaxTypes types{};
    if (const Status status = resolve_softmax_types(number_of(args.dtype), number_of(args.output_dtype), types);
        status != Status::success) {
        return status;
    }
    const auto empty_row = number_of(args.empty_row);
    // How many rows a square matrix has depends on the whole axis.
    if ((args.log != 0 && args.log != 1) || (empty_row != WR_EMPTY_ROW_NAN && empty_row != WR_EMPTY_ROW_ZERO) ||
        !is_scale(args.scale, state_type(types.dtype)) || (args.causal == 1 && args.causal_rows == 0)) {
        return Status::invalid_option;
    }
    const Shape given{args.outer, args.axis, args.inner, args.outer_stride, args.axis_stride, args.inner_stride};
    SoftmaxProblem &problem = piece.problem;
    Layout layout{};
    const std::size_t input_bytes = traits_of(types.dtype).size, output_bytes = traits_of(types.output_dtype).size;
    if (const Status status =
            first_failure({check_strides({args.strides_given, any_stride(args)}),
                           args.offsets == nullptr && args.scales == nullptr ? Status::success : Status::unsupported,
                           resolve_selection(selection_asked(args), given, args.strides_given == 1, problem.selection),
                           layout_of(given, args.strides_given == 1, input_bytes, layout),
                           extent_of({args.outer, args.axis, args.inner}, output_bytes, piece.output),
                           ends_below(first, args.axis) ? Status::success : Status::size_overflow});
        status != Status::success) {
        return status;
    }
    problem.dtype = types.dtype;
    problem.output_dtype = types.output_dtype;
    problem.log = args.log == 1;
    problem.empty_row_zero = empty_row == WR_EMPTY_ROW_ZERO;
    problem.scale = scale_or_one(args.scale);
    problem.shape = layout.shape;
    piece.input = layout.extent;
    piece.place = {first, args.axis};
    piece.in_place_allowed = is_contiguous(layout.shape) && input_bytes == output_bytes;
    return Status::success;
}

struct PieceRanges {
    MemoryRange input;
    SelectionRanges selection;
};

Status locate_piece(const wr_softmax_args &args, Piece &piece, PieceRanges &ranges) {
    const SoftmaxProblem &problem = piece.problem;
    piece.problem.input = args.input;
    return first_failure({locate(args.input, piece.input, traits_of(problem.dtype).alignment, ranges.input),
                          locate_selection(problem.selection, problem.shape,
                                           elements_in(piece.output, problem.output_dtype), ranges.selection)});
}

std::int32_t write_state(const wr_softmax_args &args, std::size_t first, void *state, std::size_t state_bytes,
                         std::int32_t *check, CUstream_st *stream) {
    Piece piece{};
    SizedState sized{};
    if (const Status status = describe(args, first, piece); status != Status::success) {
        return number_of(status);
    }
    if (const Status status =
            size_state(piece.problem.dtype, piece.problem.scale, piece.place, args.outer, args.inner, sized);
        status != Status::success) {
        return number_of(status);
    }
    PieceRanges read{};
    MemoryRange written[3]{};
    if (const Status status = first_failure(
            {locate_piece(args, piece, read), locate_state(state, state_bytes, sized, written[0]),
             locate_check(check, written[1]), locate_workspace(args.workspace, args.workspace_bytes, 0, written[2])});
        status != Status::success) {
        return number_of(status);
    }
    if (overlap(written, {read.input, read.selection.mask, read.selection.lengths})) {
        return number_of(Status::overlap);
    }
    piece.problem.workspace = args.workspace;
    piece.problem.workspace_bytes = args.workspace == nullptr ? 0 : args.workspace_bytes;
    const SoftmaxStateProblem problem{piece.problem, first, {state, sized.header}, check};
    return run(problem, stream, host::softmax_state, cuda::softmax_state);
}

// The states that outputs are made with, of which those are needed that the piece's edges cut from.
struct NeededStates {
    SizedState whole, before, after;
    bool needs_before, needs_after;
};

Status size_needed(const Piece &piece, std::uint64_t count, const wr_softmax_args &args, NeededStates &needed) {
    const SoftmaxPiece &place = piece.place;
    if (count >= most_elements) {
        return Status::size_overflow;
    }
    if (place.end() > count) {
        return Status::not_neighbour;
    }
    const auto size = [&](std::uint64_t first, std::uint64_t end, SizedState &state) {
        return size_state(piece.problem.dtype, piece.problem.scale, {first, end - first}, args.outer, args.inner,
                          state);
    };
    needed.needs_before = needs_before(place, piece.problem.log);
    needed.needs_after = needs_after(place, count, piece.problem.log);
    return first_failure(
        {size(0, count, needed.whole), size(0, place.first, needed.before), size(place.end(), count, needed.after)});
}

std::int32_t write_outputs(const wr_softmax_args &args, std::size_t first, std::size_t count, const void *whole,
                           const void *before, const void *after, std::int32_t *check, CUstream_st *stream) {
    Piece piece{};
    if (const Status status = describe(args, first, piece); status != Status::success) {
        return number_of(status);
    }
    NeededStates needed{};
    if (const Status status = size_needed(piece, count, args, needed); status != Status::success) {
        return number_of(status);
    }
    const auto located = [](bool wanted, const void *bytes, const SizedState &state, MemoryRange &range) {
        return wanted || bytes != nullptr ? locate_state(bytes, state, range) : Status::success;
    };
    SoftmaxProblem &softmax = piece.problem;
    PieceRanges read{};
    MemoryRange written[2]{}, whole_range{}, before_range{}, after_range{};
    if (const Status status = first_failure(
            {locate_piece(args, piece, read),
             locate(args.output, piece.output, traits_of(softmax.output_dtype).alignment, written[0]),
             locate_state(whole, needed.whole, whole_range),
             located(needed.needs_before, before, needed.before, before_range),
             located(needed.needs_after, after, needed.after, after_range), locate_check(check, written[1])});
        status != Status::success) {
        return number_of(status);
    }
    const bool in_place = piece.in_place_allowed && args.input == args.output;
    if (overlap(written, {in_place ? MemoryRange{} : read.input, read.selection.mask, read.selection.lengths,
                          whole_range, before_range, after_range})) {
        return number_of(Status::overlap);
    }
    softmax.output = args.output;
    const SoftmaxFromStateProblem problem{softmax,
                                          first,
                                          count,
                                          {whole, needed.whole.header},
                                          {before, needed.before.header},
                                          {after, needed.after.header},
                                          check};
    return run(problem, stream, host::softmax_from_state, cuda::softmax_from_state);
}

// WR_LOGSUMEXP of a state's arguments: its types, and its scale.
struct LogSumExp {
    Reduction what;
    double scale;
};

Status describe(const wr_state_args &args, LogSumExp &found) {
    if (!is_known_struct(args)) {
        return Status::struct_size;
    }
    if (const Status status = resolve_reduction(reduction_asked(args), found.what); status != Status::success) {
        return status;
    }
    if (!is_scale(args.scale, state_type(found.what.dtype))) {
        return Status::invalid_option;
    }
    found.scale = scale_or_one(args.scale);
    const bool fits = ends_below(args.first, args.count) && ends_below(args.first + args.count, args.right_count);
    return fits ? Status::success : Status::size_overflow;
}

wr_softmax_args softmax_args_of(const wr_state_args &args) {
    wr_softmax_args softmax{};
    softmax.struct_size = sizeof softmax;
    copy_number(softmax.dtype, args.dtype);
    softmax.scale = args.scale;
    softmax.input = args.input;
    softmax.outer = args.outer;
    softmax.axis = args.count;
    softmax.inner = args.inner;
    softmax.outer_stride = args.outer_stride;
    softmax.axis_stride = args.axis_stride;
    softmax.inner_stride = args.inner_stride;
    softmax.strides_given = args.strides_given;
    softmax.workspace = args.workspace;
    softmax.workspace_bytes = args.workspace_bytes;
    return softmax;
}

} // namespace

Status softmax_state_size(const wr_state_args &args, std::size_t &state_bytes, std::size_t *workspace_bytes) {
    LogSumExp what{};
    SizedState sized{};
    if (const Status status = describe(args, what); status != Status::success) {
        return status;
    }
    const SoftmaxPiece piece{args.first, args.count};
    if (const Status status = size_state(what.what.dtype, what.scale, piece, args.outer, args.inner, sized);
        status != Status::success) {
        return status;
    }
    state_bytes = static_cast<std::size_t>(sized.extent.high);
    if (workspace_bytes != nullptr) {
        SoftmaxProblem of_piece{};
        of_piece.dtype = what.what.dtype;
        of_piece.shape = {args.outer, args.count, args.inner, 0, 0, 0};
        *workspace_bytes = whole_workspace(cuda::softmax_state_workspace_bytes(of_piece, args.first));
    }
    return Status::success;
}

std::int32_t softmax_state_reduce(const wr_state_args &args, CUstream_st *stream) {
    LogSumExp what{};
    if (const Status status = describe(args, what); status != Status::success) {
        return number_of(status);
    }
    return write_state(softmax_args_of(args), args.first, args.state, args.state_bytes, args.check, stream);
}

std::int32_t softmax_state_merge(const wr_state_args &args, CUstream_st *stream) {
    LogSumExp what{};
    if (const Status status = describe(args, what); status != Status::success) {
        return number_of(status);
    }
    const ElementType dtype = what.what.dtype;
    const SoftmaxPiece left{args.first, args.count}, right{left.end(), args.right_count};
    const SoftmaxPiece both{left.first, left.count + right.count};
    SizedState of_left{}, of_right{}, of_both{};
    MemoryRange left_range{}, right_range{}, written[2]{};
    if (const Status status = first_failure({size_state(dtype, what.scale, left, args.outer, args.inner, of_left),
                                             size_state(dtype, what.scale, right, args.outer, args.inner, of_right),
                                             size_state(dtype, what.scale, both, args.outer, args.inner, of_both),
                                             locate_state(args.state, args.state_bytes, of_left, left_range),
                                             locate_state(args.right, args.right_bytes, of_right, right_range),
                                             locate_state(args.merged, args.merged_bytes, of_both, written[0]),
                                             locate_check(args.check, written[1])});
        status != Status::success) {
        return number_of(status);
    }
    // The left state may be longer than the merged one, which stands in its place then.
    const bool left_is_hit =
        args.merged == args.state ? overlaps_any(left_range, {&written[1], 1}) : overlaps_any(left_range, written);
    if (left_is_hit || overlap(written, {right_range})) {
        return number_of(Status::overlap);
    }
    const SoftmaxMergeProblem problem{dtype,
                                      args.outer,
                                      args.inner,
                                      left,
                                      right,
                                      {args.state, of_left.header},
                                      {args.right, of_right.header},
                                      {args.merged, of_both.header},
                                      args.check};
    return run(problem, stream, host::merge_softmax_states, cuda::merge_softmax_states);
}

std::int32_t softmax_state_finish(const wr_state_args &args, CUstream_st *stream) {
    LogSumExp what{};
    if (const Status status = describe(args, what); status != Status::success) {
        return number_of(status);
    }
    if (args.first != 0) {
        return number_of(Status::not_neighbour);
    }
    const ElementTraits output = traits_of(what.what.output_dtype);
    SizedState sized{};
    Extent extent{};
    MemoryRange state{}, written[2]{};
    if (const Status status = first_failure(
            {args.values == nullptr ? Status::success : Status::unsupported,
             size_state(what.what.dtype, what.scale, {0, args.count}, args.outer, args.inner, sized),
             extent_of({args.outer, args.inner}, output.size, extent),
             locate_state(args.state, args.state_bytes, sized, state),
             locate(args.output, extent, output.alignment, written[0]), locate_check(args.check, written[1])});
        status != Status::success) {
        return number_of(status);
    }
    if (overlap(written, {state})) {
        return number_of(Status::overlap);
    }
    const SoftmaxFinishProblem problem{what.what.dtype, what.what.output_dtype,     args.outer,  args.inner,
                                       args.count,      {args.state, sized.header}, args.output, args.check};
    return run(problem, stream, host::finish_softmax_state, cuda::finish_softmax_state);
}

} // namespace wr::capi

wr_status wr_softmax_state(const wr_softmax_args *args, size_t first, void *state, size_t state_bytes, int32_t *check,
                           CUstream_st *stream) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] {
        return wr::capi::with_args(*args, [&](const auto &known) {
            return wr::capi::write_state(known, first, state, state_bytes, check, stream);
        });
    });
}

wr_status wr_softmax_from_state(const wr_softmax_args *args, size_t first, size_t count, const void *whole,
                                const void *before, const void *after, int32_t *check, CUstream_st *stream) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] {
        return wr::capi::with_args(*args, [&](const auto &known) {
            return wr::capi::write_outputs(known, first, count, whole, before, after, check, stream);
        });
    });
}
