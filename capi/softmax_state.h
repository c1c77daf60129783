// WR_LOGSUMEXP of the calls on states: the states of softmax. Each checks all of its arguments.
#pragma once

#include "numerics/status.h"
#include "warp_reduce.h"

namespace wr::capi {

// workspace_bytes: nullptr where it is not wanted.
Status softmax_state_size(const wr_state_args &args, std::size_t &state_bytes, std::size_t *workspace_bytes);
std::int32_t softmax_state_reduce(const wr_state_args &args, CUstream_st *stream);
std::int32_t softmax_state_merge(const wr_state_args &args, CUstream_st *stream);
std::int32_t softmax_state_finish(const wr_state_args &args, CUstream_st *stream);

} // namespace wr::capi
