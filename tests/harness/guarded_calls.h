/*
 * Calls on arrays that touch a page which nobody may touch. Who reads or writes an element beyond them ends the
 * program, which then says what it was doing.
 */
#ifndef WARP_REDUCE_TESTS_GUARDED_CALLS_H
#define WARP_REDUCE_TESTS_GUARDED_CALLS_H

#include "harness/header_offers.h"

/* An array of a call: what is in it, or NULL for an output. */
typedef struct guarded_array {
    const void *content;
    size_t bytes;
} guarded_array;

enum { GUARDED_ARRAYS = 9, GUARDED_ELEMENTS = 13000, GUARDED_LABEL_BYTES = 200 };

void guarded_calls_open(void);
void guarded_calls_close(void);

/* GUARDED_ELEMENTS random elements. */
const void *guarded_elements(wr_dtype dtype);

/* Makes the call on the arrays, wherever they are. */
typedef wr_status guarded_call(const void *call, unsigned char *const *arrays);

/*
 * The call with all arrays beginning at a closed page, and once more with all ending at one: it succeeds with the same
 * bytes, whatever lies beside the arrays on their other sides.
 */
void check_guarded_call(guarded_call *run, const void *call, const guarded_array *arrays, size_t count,
                        const char *label);

typedef struct shape {
    size_t outer, axis, inner;
} shape;

/* Rows and columns around the sizes of vectors and base blocks. */
size_t guarded_shapes(void);
shape guarded_shape(size_t index);
/* Lengths alone. */
size_t guarded_lengths(void);
size_t guarded_length(size_t index);

size_t elements_of(shape of);

/* Strides, and the elements from the lowest to the highest with the lowest's distance from [0][0][0]. */
typedef struct strides {
    ptrdiff_t outer, axis, inner;
} strides;

/* 0 contiguous, 1 with gaps, 2 backwards, 3 the axis innermost. */
enum { GUARDED_LAYOUTS = 4 };
strides guarded_strides(shape of, int layout);
size_t extent_of(shape of, strides by, size_t *origin);

/* Into GUARDED_LABEL_BYTES. */
void describe_guarded(char *text, const char *call, const char *op, wr_dtype dtype, shape of, int variant);

#endif
