/* Seeded test data: the same seed gives the same elements on every machine. */
#ifndef WARP_REDUCE_TESTS_RANDOM_NUMBERS_H
#define WARP_REDUCE_TESTS_RANDOM_NUMBERS_H

#include "warp_reduce.h"

typedef enum data_kind {
    /* between -1 and 1 */
    DATA_UNIFORM,
    /* magnitudes from 2^-60 to 2^60, in f16 from 2^-20 to 2^14: order of addition shows in most bits */
    DATA_WIDE,
    /* each element has its opposite at the other end, and a few small ones remain */
    DATA_CANCELLING,
    DATA_SUBNORMAL,
    /* -100 to 100: float sums are exact */
    DATA_INTEGERS,
    /* any finite bit pattern: sums overflow, and infinities meet */
    DATA_ANY_FINITE,
    DATA_KINDS,
    /* The kinds below are for some tests. Close to 1 on either side, of both signs; odd integers: products keep
     * telling their factors apart. */
    DATA_NEAR_ONE = DATA_KINDS,
    /* -2 to 2 (unsigned: 0 to 4), floats also -0: many equal elements, and many zeros */
    DATA_FEW_VALUES,
    /* 1 of 2, of 40 or of 1000 elements (by the seed) are not zero */
    DATA_MOSTLY_ZERO,
    /* 1 of 2, of 40 or of 1000 elements (by the seed) are zero, of both signs */
    DATA_FEW_ZEROS,
    /* between -1 and 1, and 3 of 4, 1 of 40 or 1 of 1000 elements (by the seed) NaNs of any sign and payload */
    DATA_WITH_NANS,
    /* zeros, infinities, NaNs, ones, the largest and the smallest numbers, of both signs */
    DATA_SPECIALS,
    ALL_DATA_KINDS
} data_kind;

const char *data_kind_name(data_kind kind);

/* The next of a sequence (SplitMix64). */
uint64_t random_next(uint64_t *state);
/* 0 to bound - 1 */
size_t random_below(uint64_t *state, size_t bound);
/* at least 0, below 1, a multiple of 2^-53 */
double random_unit(uint64_t *state);

/* Fills `count` elements. Integers are any bits and field words any canonical ones, but for the kinds that say more. */
void fill_random(wr_dtype dtype, data_kind kind, uint64_t seed, void *array, size_t count);

#endif
