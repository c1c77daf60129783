/* Jobs by states: an array in two pieces, their states, these as one, and what is made of that. */
#ifndef WARP_REDUCE_TESTS_STATE_JOBS_H
#define WARP_REDUCE_TESTS_STATE_JOBS_H

#include "warp_reduce.h"

/* [outer][axis][inner], contiguous; the axis is cut at a third. */
typedef struct cut_job {
    wr_op op;
    wr_dtype dtype;
    size_t outer, axis, inner;
} cut_job;

/* Room for the three states, on a boundary of 16; the workspace of a piece. */
size_t bytes_of_states(const cut_job *of);
size_t workspace_of_states(const cut_job *of);

/* The first status that is no success. There is one outer index. */
wr_status reduce_by_states(const cut_job *of, const void *input, void *states, void *output, void *values,
                           void *workspace, size_t workspace_bytes, struct CUstream_st *stream);

/* Softmax, of op WR_LOGSUMEXP: the outputs of the left piece, and behind them those of the right one. */
wr_status softmax_by_states(const cut_job *of, const void *input, void *states, void *output,
                            struct CUstream_st *stream);

#endif
