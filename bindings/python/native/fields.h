/* The args structs of warp_reduce.h by the names of their fields. */
#pragma once

#include "python_abi.h"
#include "warp_reduce.h"

typedef union Args {
    size_t struct_size;
    wr_reduce_args reduce;
    wr_reduce_segments_args segments;
    wr_dot_args dot;
    wr_softmax_args softmax;
    wr_softmax_backward_args softmax_backward;
} Args;

typedef enum Call { CALL_REDUCE, CALL_SEGMENTS, CALL_DOT, CALL_SOFTMAX, CALL_SOFTMAX_BACKWARD, CALLS } Call;

/* Makes the names that are looked up. 0, or a Python exception is set. */
int intern_field_names(void);

/* The struct of a call from a dictionary {field: number or None}: what is not in it is zero. 0, or a Python exception
 * is set: a name that is none of the struct's, a value that its field cannot hold. */
int fill_args(Call call, PyObject *fields, Args *args);

/* The names of a call's fields but for struct_size, as a new tuple. */
PyObject *field_names(Call call);
