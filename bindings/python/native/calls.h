/* The library's calls by their args structs: one set of names for all that make them. */
#pragma once

#include "library.h"

typedef union Args {
    size_t struct_size;
    wr_reduce_args reduce;
    wr_reduce_segments_args segments;
    wr_dot_args dot;
    wr_softmax_args softmax;
    wr_softmax_backward_args softmax_backward;
} Args;

typedef enum Call { CALL_REDUCE, CALL_SEGMENTS, CALL_DOT, CALL_SOFTMAX, CALL_SOFTMAX_BACKWARD, CALLS } Call;

wr_status run_call(const Library *library, Call call, const Args *args, struct CUstream_st *stream);

wr_status workspace_of_call(const Library *library, Call call, const Args *args, size_t *bytes);

void set_workspace(Call call, Args *args, void *memory, size_t bytes);

/* All zero, but for struct_size. */
Args empty_args(Call call);
