/* Logits of which one row in six holds something that kernels take in a way of its own. */
#ifndef WARP_REDUCE_TESTS_UNUSUAL_LOGITS_H
#define WARP_REDUCE_TESTS_UNUSUAL_LOGITS_H

#include "warp_reduce.h"

#include <stddef.h>

/*
 * Fills [outer][axis][inner]. Row number o * inner + i is the one along the axis at [o][][i]: of 64 rows eleven hold
 * NaN, infinities, large logits of either sign, nothing but -infinity, or magnitudes far from their neighbours'.
 */
void put_unusual_logits(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner);

/* One of them: the element `column` of a row. */
double unusual_logit(uint64_t *state, size_t row, size_t column, size_t axis, wr_dtype dtype);

#endif
