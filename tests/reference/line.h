/* One line of a reduction: what becomes one element of the output. Shared by the parts of the reference. */
#ifndef WARP_REDUCE_TESTS_REFERENCE_LINE_H
#define WARP_REDUCE_TESTS_REFERENCE_LINE_H

#include "reference/reference.h"

typedef struct line {
    /* operator, types, options, weights, output and values */
    const wr_reduce_args *args;
    /* element i is i * stride elements from here */
    const unsigned char *first;
    ptrdiff_t stride;
    size_t length;
    /* of the element of the output, and its type */
    size_t index;
    wr_dtype output_dtype;
} line;

const void *line_element(const line *of, size_t i);
const void *line_weight(const line *of, size_t i);

void reduce_float_line(const line *of);
/* WR_SUM_EXACT */
void reduce_exact_line(const line *of);
void reduce_integer_line(const line *of);
void reduce_field_line(const line *of);
/* WR_ANY, WR_ALL, WR_COUNT_NONZERO of every type */
void count_line(const line *of);

/* WR_ARGMIN, WR_ARGMAX: element `found` (where it is below the length) into the output and, where wanted, the values;
 * `empty` are the bits of the value of nothing. */
void put_index(const line *of, size_t found, uint64_t empty);

void *reference_allocate(size_t bytes);

#endif
