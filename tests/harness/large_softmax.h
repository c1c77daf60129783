/* Softmax of arrays so large that each call needs as few of them as can be. */
#ifndef WARP_REDUCE_TESTS_LARGE_SOFTMAX_H
#define WARP_REDUCE_TESTS_LARGE_SOFTMAX_H

#include "warp_reduce.h"

#include <stddef.h>

/* What is wanted of each row beside its outputs, to be added up. */
typedef enum row_values { NO_ROW_VALUES = 0, ROW_LOGSUMEXP = 1, ROW_MAXIMUM = 2 } row_values;

/*
 * Softmax of unusual logits, contiguous, as `args` say but for the arrays: on the host, and in every other place the
 * same bytes, from an input that begins so many elements behind a boundary. In place, where the outputs are of the
 * input's type, and into an output as far off. With what is wanted of each row beside its outputs: a sum of row_values.
 */
void check_large_softmax(wr_softmax_args args, size_t elements_off, unsigned wanted);

/* The same of logits that put(dtype, array, outer, axis, inner) makes. */
typedef void (*put_logits)(wr_dtype, void *, size_t, size_t, size_t);
void check_large_softmax_of(put_logits put, wr_softmax_args args, size_t elements_off, unsigned wanted);

/* Base blocks' worth of rows of `axis` for the GPU at hand: `each` for every multiprocessor, and one row more. */
size_t rows_for_gpu(size_t axis, size_t each);

#endif
