/* The same rows laid out in many ways: as rows, as columns, along a middle axis, with gaps, backwards. */
#ifndef WARP_REDUCE_TESTS_LAYOUTS_H
#define WARP_REDUCE_TESTS_LAYOUTS_H

#include "harness/jobs.h"

typedef struct layout {
    const char *name;
    size_t outer, inner;
    /* zero where the contiguous value is meant */
    ptrdiff_t outer_stride, axis_stride, inner_stride;
    /* room that the array takes, and where in it element [0][0][0] is, in elements */
    size_t extent, origin;
} layout;

enum { LAYOUTS = 14 };

/* Layout `which` (below LAYOUTS) of `rows` rows of `axis` elements; rows must be a multiple of 4. */
layout layout_of(int which, size_t rows, size_t axis);
int layout_is_contiguous(const layout *of);

/* A new image, `misalignment` elements past a boundary, with the rows laid out; *first is element [0][0][0]. */
image lay_out(const layout *of, wr_dtype dtype, const void *rows, size_t axis, size_t misalignment, const void **first);

/* Row `row` of a result of contiguous shape [outer][axis][inner] gathered into consecutive elements. */
void gather_row(const layout *of, wr_dtype dtype, const void *result, size_t axis, size_t row, void *gathered);

#endif
