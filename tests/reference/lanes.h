/*
 * What each operator gives for a few elements, from the header's words and the definitions of the fields alone: numbers
 * as f64 that are rounded after each step, words by remainders. Shares no code with the library.
 */
#ifndef WARP_REDUCE_TESTS_REFERENCE_LANES_H
#define WARP_REDUCE_TESTS_REFERENCE_LANES_H

#include "warp_reduce.h"

/* Whether wr_reduce, and so a tile, has this operator for this type. */
int reference_lanes_offered(int op, wr_dtype dtype);

/* Reduces 1 to 32 elements into one of the short calls' output type. */
void reference_lanes(int op, wr_dtype dtype, const unsigned char *input, size_t count, unsigned char *output);

/* The modulus of a field's words, and their bytes. */
uint64_t lanes_prime(wr_dtype dtype);
size_t lanes_word_bytes(wr_dtype dtype);

#endif
