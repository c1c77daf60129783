/* How an array of any rank and strides becomes the library's [outer][axis][inner]. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { MOST_DIMENSIONS = 64 };

typedef struct Shape {
    int rank;
    ptrdiff_t lengths[MOST_DIMENSIONS];
    ptrdiff_t strides[MOST_DIMENSIONS]; /* in bytes */
    ptrdiff_t item_size;
} Shape;

typedef struct Plan {
    size_t outer, axis, inner;
    /* in elements; of an extent of one element they are 0 */
    ptrdiff_t outer_stride, axis_stride, inner_stride;
    /* The kept dimensions of more than one element, from the slowest to the fastest of the result's memory, and whether
     * that is their own order. */
    int kept[MOST_DIMENSIONS];
    int kept_count;
    int natural;
} Plan;

/* `reduced` has bit d for each dimension that is reduced; their elements are taken in row-major order, or with
 * `any_order`, which is for results that do not depend on it, in that of the memory. Returns 0 where the strides cannot
 * say it, so that the array must be copied first. */
int plan_reduction(const Shape *shape, uint64_t reduced, int any_order, Plan *plan);

/* Likewise for a result of the array's own shape in row-major order, as softmax has. */
int plan_rows(const Shape *shape, uint64_t reduced, Plan *plan);

/* Whether the elements lie one after the other, in C order. */
int is_in_order(const Shape *shape);
