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

/* Logits between two bounds. */
void put_logits_between(wr_dtype dtype, void *array, size_t count, double least, double most);

/* Of every `columns` side by side the first `unusual` are so, and the others hold logits between the bounds. */
typedef struct partly_unusual {
    size_t columns, unusual;
    double least, most;
} partly_unusual;
void put_partly_unusual(wr_dtype dtype, void *array, const size_t shape[3], const partly_unusual *how);

#endif
