/*
 * What the results must be, written from the public definitions alone: plain recursion, rounding by exact scaling
 * and integer arithmetic. Slow, and sharing no code with the library.
 */
#ifndef WARP_REDUCE_TESTS_REFERENCE_H
#define WARP_REDUCE_TESTS_REFERENCE_H

#include "warp_reduce.h"

#define REFERENCE_KOALABEAR_P UINT64_C(2130706433)

/* Bytes of an element, 0 for what this version offers nowhere. */
size_t reference_size(wr_dtype dtype);
int reference_is_float(wr_dtype dtype);

/* The exact value of a float element of any format, and its opposite: one rounding to nearest even, what overflows
 * becomes infinity (in E4M3 NaN), every NaN the canonical one. */
double reference_get(wr_dtype dtype, const void *array, size_t index);
void reference_put(wr_dtype dtype, void *array, size_t index, double value);

/* The bits of element `index`, in the low bits of the result, and their opposite. */
uint64_t reference_bits(wr_dtype dtype, const void *array, size_t index);
void reference_put_bits(wr_dtype dtype, void *array, size_t index, uint64_t bits);

/* Integers, sign-extended. */
int64_t reference_get_integer(wr_dtype dtype, const void *array, size_t index);

/* T(x[0..n)) = T(x[0..h)) + T(x[h..n)), h the largest power of two below n; +0 of nothing. */
float reference_tree_f32(const float *x, size_t n);
double reference_tree_f64(const double *x, size_t n);

/* The job of wr_reduce_ex, for valid arguments and host memory. */
void reference_reduce(const wr_reduce_args *args);

/* args->output_dtype, or what zero stands for. */
wr_dtype reference_output_dtype(const wr_reduce_args *args);

#endif
