/*
 * Softmax and its gradient of no common kind: types mixed, masked, cut off, strided, off the boundaries, ragged, with
 * logsumexp and maximum, in place. Each job's bits are compared in every place.
 */
#ifndef WARP_REDUCE_TESTS_JOBS_OF_ANY_KIND_H
#define WARP_REDUCE_TESTS_JOBS_OF_ANY_KIND_H

#include "warp_reduce.h"

enum {
    MASKED = 1,
    CUT_OFF = 2,
    CAUSAL = 4,
    STRIDED = 8,
    RAGGED = 16, /* of rows, whose inner is 1 */
    LOG = 32,
    FROM_LOGITS = 64,    /* of gradients */
    ADDED = 128,         /* likewise */
    VALUES = 256,        /* logsumexp and maximum too */
    IN_PLACE = 512,      /* of softmax into its own type */
    FAR_APART = 1024,    /* logits of which some are large */
    ON_BOUNDARIES = 2048 /* of vectors; else most arrays are off them by an element */
};

typedef struct kind {
    /* input and output; or what was saved, the outputs' gradient, the inputs' gradient */
    wr_dtype first, second, third;
    int what;
} kind;

/* Gradients, of rows and columns alike. */
enum { GRADIENT_KINDS = 10 };
extern const kind gradient_kinds[GRADIENT_KINDS];

/* Softmax into its own type and gradients of one type, of which elements are left out. */
enum { LEAVING_OUT = 9 };
extern const kind softmax_leaving_out[LEAVING_OUT], gradients_leaving_out[LEAVING_OUT];

/* Of [outer][axis][inner]. */
void check_softmax_of_kind(const kind *of, size_t outer, size_t axis, size_t inner);
void check_gradient_of_kind(const kind *of, size_t outer, size_t axis, size_t inner);
typedef void check_of_kind(const kind *of, size_t outer, size_t axis, size_t inner);

#endif
