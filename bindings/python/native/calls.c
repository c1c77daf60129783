#include "calls.h"

#include <string.h>

wr_status run_call(const Library *library, Call call, const Args *args, struct CUstream_st *stream) {
    const SoftmaxPiece *piece = &args->piece;
    switch (call) {
    case CALL_REDUCE:
        return library->wr_reduce_ex(&args->reduce, stream);
    case CALL_SEGMENTS:
        return library->wr_reduce_segments_ex(&args->segments, stream);
    case CALL_DOT:
        return library->wr_dot_ex(&args->dot, stream);
    case CALL_SOFTMAX:
        return library->wr_softmax_ex(&args->softmax, stream);
    case CALL_SOFTMAX_BACKWARD:
        return library->wr_softmax_backward_ex(&args->softmax_backward, stream);
    case CALL_STATE_REDUCE:
        return library->wr_state_reduce(&args->state, stream);
    case CALL_STATE_MERGE:
        return library->wr_state_merge(&args->state, stream);
    case CALL_STATE_FINISH:
        return library->wr_state_finish(&args->state, stream);
    case CALL_SOFTMAX_STATE:
        return library->wr_softmax_state(&piece->softmax, piece->first, piece->state, piece->state_bytes, piece->check,
                                         stream);
    default:
        return library->wr_softmax_from_state(&piece->softmax, piece->first, piece->count, piece->whole, piece->before,
                                              piece->after, piece->check, stream);
    }
}

wr_status workspace_of_call(const Library *library, Call call, const Args *args, size_t *bytes) {
    size_t state_bytes = 0;
    switch (call) {
    case CALL_REDUCE:
        return library->wr_reduce_workspace_size(&args->reduce, bytes);
    case CALL_SEGMENTS:
        return library->wr_reduce_segments_workspace_size(&args->segments, bytes);
    case CALL_DOT:
        return library->wr_dot_workspace_size(&args->dot, bytes);
    case CALL_SOFTMAX:
        return library->wr_softmax_workspace_size(&args->softmax, bytes);
    case CALL_SOFTMAX_BACKWARD:
        return library->wr_softmax_backward_workspace_size(&args->softmax_backward, bytes);
    case CALL_STATE_REDUCE:
        return library->wr_state_size(&args->state, &state_bytes, bytes);
    default:
        *bytes = 0;
        return WR_SUCCESS;
    }
}

typedef struct Struct {
    size_t size, workspace, workspace_bytes;
} Struct;

#define STRUCT(type) {sizeof(type), offsetof(type, workspace), offsetof(type, workspace_bytes)}
static const Struct structs[CALLS] = {
    [CALL_REDUCE] = STRUCT(wr_reduce_args),
    [CALL_SEGMENTS] = STRUCT(wr_reduce_segments_args),
    [CALL_DOT] = STRUCT(wr_dot_args),
    [CALL_SOFTMAX] = STRUCT(wr_softmax_args),
    [CALL_SOFTMAX_BACKWARD] = STRUCT(wr_softmax_backward_args),
    [CALL_STATE_REDUCE] = STRUCT(wr_state_args),
    [CALL_STATE_MERGE] = STRUCT(wr_state_args),
    [CALL_STATE_FINISH] = STRUCT(wr_state_args),
    [CALL_SOFTMAX_STATE] = STRUCT(wr_softmax_args),
    [CALL_SOFTMAX_FROM_STATE] = STRUCT(wr_softmax_args),
};

void set_workspace(Call call, Args *args, void *memory, size_t bytes) {
    memcpy((char *)args + structs[call].workspace, &memory, sizeof memory);
    memcpy((char *)args + structs[call].workspace_bytes, &bytes, sizeof bytes);
}

Args empty_args(Call call) {
    Args args;
    memset(&args, 0, sizeof args);
    args.struct_size = structs[call].size;
    return args;
}

ptrdiff_t size_of_dtype(int dtype) {
    switch (dtype) {
    case WR_F64:
    case WR_I64:
    case WR_U64:
        return 8;
    case WR_F32:
    case WR_I32:
    case WR_U32:
        return 4;
    case WR_F16:
    case WR_BF16:
    case WR_I16:
    case WR_U16:
        return 2;
    default:
        return 1;
    }
}
