/* The library's calls by their args structs: one set of names for all that make them. */
#pragma once

#include "geometry.h"
#include "library.h"

/* The arguments of wr_softmax_state and wr_softmax_from_state, which are not all in one struct. */
typedef struct SoftmaxPiece {
    wr_softmax_args softmax;
    size_t first, count;
    void *state;
    size_t state_bytes;
    const void *whole, *before, *after;
    int32_t *check;
} SoftmaxPiece;

typedef union Args {
    size_t struct_size;
    wr_reduce_args reduce;
    wr_reduce_segments_args segments;
    wr_dot_args dot;
    wr_softmax_args softmax;
    wr_softmax_backward_args softmax_backward;
    wr_state_args state;
    SoftmaxPiece piece;
} Args;

typedef enum Call {
    CALL_REDUCE,
    CALL_SEGMENTS,
    CALL_DOT,
    CALL_SOFTMAX,
    CALL_SOFTMAX_BACKWARD,
    CALL_STATE_REDUCE,
    CALL_STATE_MERGE,
    CALL_STATE_FINISH,
    CALL_SOFTMAX_STATE,
    CALL_SOFTMAX_FROM_STATE,
    CALLS
} Call;

wr_status run_call(const Library *library, Call call, const Args *args, struct CUstream_st *stream);

wr_status workspace_of_call(const Library *library, Call call, const Args *args, size_t *bytes);

void set_workspace(Call call, Args *args, void *memory, size_t bytes);

/* All zero, but for struct_size. */
Args empty_args(Call call);

/* Of one element, in bytes; of a plain type. */
ptrdiff_t size_of_dtype(int dtype);

/* Where the elements are, in an args struct of reductions or of rows. */
#define SET_PLAN(args, plan)                                                                                           \
    do {                                                                                                               \
        (args)->outer = (plan)->outer;                                                                                 \
        (args)->axis = (plan)->axis;                                                                                   \
        (args)->inner = (plan)->inner;                                                                                 \
        (args)->outer_stride = (plan)->outer_stride;                                                                   \
        (args)->axis_stride = (plan)->axis_stride;                                                                     \
        (args)->inner_stride = (plan)->inner_stride;                                                                   \
        (args)->strides_given = 1;                                                                                     \
    } while (0)

/* Where a gradient's are. */
#define SET_GRADIENT_PLAN(args, plan)                                                                                  \
    do {                                                                                                               \
        (args)->gradient_outer_stride = (plan)->outer_stride;                                                          \
        (args)->gradient_axis_stride = (plan)->axis_stride;                                                            \
        (args)->gradient_inner_stride = (plan)->inner_stride;                                                          \
    } while (0)
