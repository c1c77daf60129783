/* Softmax, and before it the sum, of rows in two pieces, by all the calls that there are for it. */
#ifndef WARP_REDUCE_TESTS_PIECE_CALLS_H
#define WARP_REDUCE_TESTS_PIECE_CALLS_H

#include "walk.h"
#include "warp_reduce.h"

#include <stddef.h>

/* Memory of a place. `left` has room for the state of the whole, too: at last it is merged there once more. */
typedef struct piece_memory {
    void *left, *right, *whole;
    void *sums;   /* [outer][inner], of the input's type: the logsumexp */
    void *output; /* [outer][axis - piece_cut(axis)][inner]: softmax of the right piece */
    int32_t *check;
} piece_memory;

/* Elements of the left piece. */
size_t piece_cut(size_t axis);

/* Of the rows' pieces, of contiguous rows of args->axis elements. */
size_t piece_state_bytes(const wr_softmax_args *args, size_t first, size_t count);

/* The first status that is not WR_SUCCESS. */
wr_status softmax_in_pieces(const wr_softmax_args *args, const piece_memory *memory, struct CUstream_st *stream);

/* Of the state of a piece of rows that begins with element NODES_BEGIN of their axis: all but the memory. */
wr_state_args node_args(const reduction *job, wr_dtype weights, const shape *of);

#endif
