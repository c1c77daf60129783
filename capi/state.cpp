// The entry points of states of reductions.
#include "numerics/state.h"
#include "capi/calls.h"
#include "capi/softmax_state.h"

namespace wr::capi {

namespace {

bool is_logsumexp(const wr_state_args &args) { return number_of(args.op) == WR_LOGSUMEXP; }

} // namespace

} // namespace wr::capi

wr_status wr_state_size(const wr_state_args *args, size_t *state_bytes, size_t *workspace_bytes) {
    if (args == nullptr || state_bytes == nullptr) {
        return WR_ERROR_NULL_POINTER;
    }
    return wr::capi::guarded([&] {
        return wr::capi::is_logsumexp(*args) ? wr::capi::softmax_state_size(*args, *state_bytes, workspace_bytes)
                                             : wr::Status::unsupported;
    });
}

wr_status wr_state_reduce(const wr_state_args *args, CUstream_st *stream) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] {
        return wr::capi::is_logsumexp(*args) ? wr::capi::softmax_state_reduce(*args, stream) : WR_ERROR_UNSUPPORTED;
    });
}

wr_status wr_state_merge(const wr_state_args *args, CUstream_st *stream) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] {
        return wr::capi::is_logsumexp(*args) ? wr::capi::softmax_state_merge(*args, stream) : WR_ERROR_UNSUPPORTED;
    });
}

wr_status wr_state_finish(const wr_state_args *args, CUstream_st *stream) {
    return args == nullptr ? WR_ERROR_NULL_POINTER : wr::capi::guarded([&] {
        return wr::capi::is_logsumexp(*args) ? wr::capi::softmax_state_finish(*args, stream) : WR_ERROR_UNSUPPORTED;
    });
}
