#include "capi/state_format.h"

#include "capi/calls.h"
#include "capi/softmax_options.h"
#include "numerics/operator_table.h"

#include <limits>

namespace wr::capi {

namespace {

constexpr std::uint64_t largest_size = std::numeric_limits<std::int64_t>::max();

// A piece does not know how long its axis is: integers for a float are kept in what suits any.
StateKind kind_of(const Reduction &what) {
    if (what.op == Operator::sum_exact) {
        return StateKind::exact;
    }
    return with_operator(what, []<class Op, class T>(OperatorOn<Op, T>) -> StateKind {
        static_assert(state_kind<Op> != StateKind::none);
        return state_kind<Op>;
    });
}

} // namespace

ReductionAsked reduction_asked(const wr_state_args &args) {
    return {number_of(args.op),
            number_of(args.dtype),
            number_of(args.output_dtype),
            number_of(args.accumulate_dtype),
            number_of(args.weights_dtype),
            number_of(args.nan_mode),
            0,
            args.weights != nullptr || number_of(args.weights_dtype) != 0};
}

Status resolve_state_format(const wr_state_args &args, StateFormat &format) {
    Reduction what{};
    if (const Status status = resolve_reduction(reduction_asked(args), what); status != Status::success) {
        return status;
    }
    if (magnitude_bits(args.scale) != 0) {
        return Status::invalid_option;
    }
    what.wide_integers = needs_wide_integers(what, largest_size);
    format = {what, kind_of(what), args.outer, args.inner};
    return Status::success;
}

Status measure_state(const StateFormat &format, const Piece &piece, std::size_t &bytes) {
    Extent extent{};
    if (piece.first > largest_size || piece.count > largest_size - piece.first) {
        return Status::size_overflow;
    }
    if (extent_of({nodes_of(format, piece), format.outer, format.inner}, node_bytes(format), extent) !=
            Status::success ||
        static_cast<std::uint64_t>(extent.high) > largest_size - state_header_bytes) {
        return Status::size_overflow;
    }
    bytes = state_header_bytes + payload_bytes(format, piece);
    return Status::success;
}

Status locate_state(const void *state, std::size_t given, const StateFormat &format, const Piece &piece,
                    MemoryRange &range) {
    std::size_t bytes = 0;
    if (const Status status = measure_state(format, piece, bytes); status != Status::success) {
        return status;
    }
    if (const Status status = locate(state, {0, static_cast<std::int64_t>(bytes)}, state_alignment, range);
        status != Status::success) {
        return status;
    }
    return given < bytes ? Status::invalid_state : Status::success;
}

} // namespace wr::capi
