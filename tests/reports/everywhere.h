/*
 * A call made in every place of the program (places.h), on copies of the caller's arrays. The places must agree byte by
 * byte, and inputs must be left as they are; the host's output is the caller's to check.
 */
#ifndef WARP_REDUCE_TESTS_EVERYWHERE_H
#define WARP_REDUCE_TESTS_EVERYWHERE_H

#include "warp_reduce.h"

/* Zeroed args with a struct_size. */
wr_reduce_args reduction(wr_op op, wr_dtype dtype, const void *input, size_t outer, size_t axis, size_t inner);
wr_softmax_args softmax_of(wr_dtype dtype, const void *input, size_t outer, size_t axis, size_t inner);

/* `elements` of the input are copied; `report` names the report. */
void reduce_everywhere(const char *report, wr_reduce_args job, size_t elements, void *output);
void segments_everywhere(const char *report, wr_op op, wr_dtype dtype, const void *input, size_t elements,
                         const int64_t *offsets, size_t segments, void *output);
void dot_everywhere(const char *report, wr_dtype dtype, const void *left, const void *right, size_t count,
                    void *output);
void softmax_everywhere(const char *report, wr_softmax_args job, void *output, void *logsumexp);

typedef enum alias { ALIAS_NONE, ALIAS_OUTPUT, ALIAS_OUTPUT_GRADIENT } alias;

/* The gradient from saved outputs, written over one of the inputs or beside them. */
void gradient_everywhere(const char *report, wr_softmax_backward_args job, alias over, void *gradient);

uint16_t f16_of(double value);
double f16_value(uint16_t word);
uint16_t bf16_of(double value);
double bf16_value(uint16_t word);

#endif
