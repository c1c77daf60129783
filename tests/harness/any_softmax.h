/*
 * Softmax, its gradient or a logsumexp, of rows, columns or ragged rows, of any types, with any options: the host's
 * bits in every place, and some rows have the bits that they have alone.
 */
#ifndef WARP_REDUCE_TESTS_ANY_SOFTMAX_H
#define WARP_REDUCE_TESTS_ANY_SOFTMAX_H

#include "warp_reduce.h"

#include <stddef.h>
#include <stdint.h>

typedef enum softmax_call { CALL_SOFTMAX, CALL_GRADIENT, CALL_LOGSUMEXP, SOFTMAX_CALLS } softmax_call;

enum {
    MASKED = 1,
    CUT_OFF = 2,
    CAUSAL = 4,
    STRIDED = 8, /* every second element of the first array */
    LOG = 16,
    SUMS = 32, /* the logsumexp of each row too; the gradient is from logits and it */
    MAXIMA = 64,
    IN_PLACE = 128, /* where the types allow it */
    ADDED = 256,    /* gradients, to what is there */
    LENDS = 512,    /* a workspace of as many bytes as the query says */
    ZERO_ROWS = 1024,
    OWN_SCALES = 2048, /* of each row, instead of the one */
    ALL_OPTIONS = 4096
};

/* What the logits are like. */
typedef enum logits_kind {
    LOGITS_NARROW,
    LOGITS_WIDE,
    LOGITS_UNUSUAL,      /* NaN, infinities, large ones, nothing but -infinity in one row of six */
    LOGITS_ONE_ABOVE,    /* all others, by any distance at which factors or outputs leave the normal range */
    LOGITS_IN_STEPS,     /* every base block at a height of its own */
    LOGITS_MASKED_OFF,   /* by the values that masks by addition have */
    LOGITS_PART_UNUSUAL, /* few rows side by side are so, and many are not */
    LOGITS_KINDS
} logits_kind;

typedef struct any_softmax {
    softmax_call call;
    /* Ragged: rows, the length that most of them do not exceed, and 1. */
    size_t outer, axis, inner;
    int ragged;
    /* input and output; or what was saved, the output's gradient and the input's */
    wr_dtype first, second, third;
    unsigned what;
    logits_kind logits;
    /* elements that the first array, the second and the mask begin behind a boundary */
    size_t off[3];
    double scale;
} any_softmax;

void check_any_softmax(const any_softmax *job);

#endif
