// What the states of one reduction have in common, as callers ask for it, and where their bytes lie.
#pragma once

#include "capi/checks.h"
#include "capi/offered.h"
#include "numerics/state_problem.h"
#include "warp_reduce.h"

namespace wr::capi {

// What a caller says of the reduction, WR_LOGSUMEXP too, of which the state is a part.
ReductionAsked reduction_asked(const wr_state_args &args);

// What a caller says; every number may be any at all. Not of WR_LOGSUMEXP.
Status resolve_state_format(const wr_state_args &args, StateFormat &format);

// Bytes of a piece's state. size_overflow where it, or the axis up to its end, is beyond 2^63 - 1.
Status measure_state(const StateFormat &format, const Piece &piece, std::size_t &bytes);

// A state in memory: as many bytes as its piece has, of `given`.
Status locate_state(const void *state, std::size_t given, const StateFormat &format, const Piece &piece,
                    MemoryRange &range);

} // namespace wr::capi
