/* Dot products in every place, as jobs.h has reductions. */
#ifndef WARP_REDUCE_TESTS_DOT_JOBS_H
#define WARP_REDUCE_TESTS_DOT_JOBS_H

#include "harness/jobs.h"

/* Zeroed, with struct_size. */
wr_dot_args dot_args(wr_dtype dtype, size_t count);

/* The type of a dot product's output. */
wr_dtype dot_output_dtype(const wr_dot_args *args);

/* Like check_reduce: args->left and args->right point into the images, which may be one. */
void check_dot(const wr_dot_args *args, const image *left, const image *right, size_t output_misalignment,
               const char *label);

#endif
