/* The argument `where`: a copy of an array in which what takes no part is the operator's identity. */
#pragma once

#include "numpy_array.h"

/* 0 and the operator's identity, as a word of x's elements that is sign-extended. -1: the library has none. */
int find_identity(wr_op op, const ArrayView *x, int64_t *word);

/* Whether `mask`, broadcast to x's shape, says which elements of x take part: bools, of x's framework. */
int is_mask_of(const ArrayView *x, const ArrayView *mask);

/* x in row-major order in memory of its own, to be freed by free_filled. 0; -1 where there is no memory, or the library
 * has no identity for such elements. */
int fill_view(wr_op op, const ArrayView *x, const ArrayView *mask, ArrayView *filled);

void free_filled(ArrayView *filled);
