// The entry points of softmax's states.
#include "capi/calls.h"

wr_status wr_softmax_state(const wr_softmax_args *args, size_t, void *, size_t, int32_t *, CUstream_st *) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : WR_ERROR_UNSUPPORTED;
}

wr_status wr_softmax_from_state(const wr_softmax_args *args, size_t, size_t, const void *, const void *, const void *,
                                int32_t *, CUstream_st *) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : WR_ERROR_UNSUPPORTED;
}
