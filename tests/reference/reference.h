/*
 * What the results must be, written from the public definitions alone: plain recursion, rounding by exact scaling,
 * integer arithmetic and remainders of 128-bit integers. Slow, and sharing no code with the library.
 */
#ifndef WARP_REDUCE_TESTS_REFERENCE_H
#define WARP_REDUCE_TESTS_REFERENCE_H

#include "warp_reduce.h"

#define REFERENCE_KOALABEAR_P UINT64_C(2130706433)

/* Bytes of an element, 0 for what is no type. */
size_t reference_size(wr_dtype dtype);
int reference_is_float(wr_dtype dtype);
/* i8 to u64; field words are none of them. */
int reference_is_integer(wr_dtype dtype);
int reference_is_signed(wr_dtype dtype);
int reference_is_field(wr_dtype dtype);

/* The exact value of a float element of any format, and its opposite: one rounding to nearest even, what overflows
 * becomes infinity (in E4M3 NaN), every NaN the canonical one. */
double reference_get(wr_dtype dtype, const void *array, size_t index);
void reference_put(wr_dtype dtype, void *array, size_t index, double value);
/* The largest number of a float format: infinity, in E4M3 448. */
double reference_largest(wr_dtype dtype);

/* The bits of element `index`, in the low bits of the result, and their opposite. Of an x4 element: of its first two
 * words. */
uint64_t reference_bits(wr_dtype dtype, const void *array, size_t index);
void reference_put_bits(wr_dtype dtype, void *array, size_t index, uint64_t bits);
void reference_copy_element(wr_dtype dtype, void *to, size_t to_index, const void *from, size_t from_index);

/* Integers: sign-extended, u64 modulo 2^64. */
int64_t reference_get_integer(wr_dtype dtype, const void *array, size_t index);

/* The prime of a field or of the field under an extension. */
uint64_t reference_prime(wr_dtype dtype);
/* How many words an element has: 1, 4 in an extension. */
int reference_degree(wr_dtype dtype);
/* The word that stands for the integer modulo p, and the integer that a word stands for: these differ in Montgomery
 * form. */
uint64_t reference_field_word(wr_dtype dtype, uint64_t integer);
uint64_t reference_field_integer(wr_dtype dtype, uint64_t word);

/* T(x[0..n)) = T(x[0..h)) + T(x[h..n)), h the largest power of two below n; +0 of nothing. */
float reference_tree_f32(const float *x, size_t n);
double reference_tree_f64(const double *x, size_t n);

/* The root of the sum of squares, kept in f32 (24 bits) or f64 (53): it leaves the range only if the norm does. */
double reference_norm(const double *x, size_t n, int bits);

/* The jobs of wr_reduce_ex, wr_reduce_segments_ex and wr_dot_ex, for valid arguments and host memory. */
void reference_reduce(const wr_reduce_args *args);
void reference_segments(const wr_reduce_segments_args *args);
void reference_dot(const wr_dot_args *args);

/* args->output_dtype, or what zero stands for. */
wr_dtype reference_output_dtype(const wr_reduce_args *args);

#endif
