// The entry points of states of reductions.
#include "numerics/state.h"
#include "capi/calls.h"

wr_status wr_state_size(const wr_state_args *args, size_t *, size_t *) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : WR_ERROR_UNSUPPORTED;
}

wr_status wr_state_reduce(const wr_state_args *args, CUstream_st *) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : WR_ERROR_UNSUPPORTED;
}

wr_status wr_state_merge(const wr_state_args *args, CUstream_st *) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : WR_ERROR_UNSUPPORTED;
}

wr_status wr_state_finish(const wr_state_args *args, CUstream_st *) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : WR_ERROR_UNSUPPORTED;
}
