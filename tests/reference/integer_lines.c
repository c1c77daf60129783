/* Integers: modulo 2^64 where an integer takes them, exact for a float. */
#include "reference/line.h"

#include <math.h>
#include <stdlib.h>

static uint64_t value_at(const line *of, size_t i) {
    return (uint64_t)reference_get_integer(of->args->dtype, line_element(of, i), 0);
}

static int is_negative(wr_dtype dtype, uint64_t x) { return reference_is_signed(dtype) && x >> 63 != 0; }

static uint64_t magnitude(wr_dtype dtype, uint64_t x) { return is_negative(dtype, x) ? 0 - x : x; }

static uint64_t mapped(const line *of, size_t i) {
    uint64_t x = value_at(of, i);
    switch ((int)of->args->op) {
    case WR_SUM_OF_SQUARES:
    case WR_NORM_L2:
        return x * x;
    case WR_NORM_L1:
    case WR_NORM_MAX:
        return magnitude(of->args->dtype, x);
    default:
        return of->args->weights == NULL ? x
                                         : x * (uint64_t)reference_get_integer(of->args->dtype, line_weight(of, i), 0);
    }
}

static uint64_t combined(wr_op op, uint64_t a, uint64_t b) {
    switch ((int)op) {
    case WR_PRODUCT:
        return a * b;
    case WR_BIT_AND:
        return a & b;
    case WR_BIT_OR:
        return a | b;
    case WR_BIT_XOR:
        return a ^ b;
    case WR_NORM_MAX:
        return a > b ? a : b;
    default:
        return a + b;
    }
}

static uint64_t identity(wr_op op) { return op == WR_PRODUCT ? 1 : op == WR_BIT_AND ? UINT64_MAX : 0; }

static uint64_t result_of(const line *of) {
    uint64_t result = identity(of->args->op);
    size_t i;
    for (i = 0; i < of->length; ++i) {
        result = combined(of->args->op, result, mapped(of, i));
    }
    return result;
}

/* ---- for a float output */

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

static wide exact(wr_dtype dtype, const void *at) {
    int64_t x = reference_get_integer(dtype, at, 0);
    return reference_is_signed(dtype) ? (wide)x : (wide)(uint64_t)x;
}

/* A term, modulo 2^128 and in f64. */
typedef struct term {
    unsigned_wide whole;
    double about;
} term;

static term term_at(const line *of, size_t i) {
    wide x = exact(of->args->dtype, line_element(of, i)), y = 1;
    term made;
    switch ((int)of->args->op) {
    case WR_SUM_OF_SQUARES:
    case WR_NORM_L2:
        y = x;
        break;
    case WR_NORM_L1:
        y = x < 0 ? -1 : 1;
        break;
    default:
        y = of->args->weights == NULL ? 1 : exact(of->args->dtype, line_weight(of, i));
    }
    made.whole = (unsigned_wide)x * (unsigned_wide)y;
    made.about = (double)x * (double)y;
    return made;
}

static double tree_of_terms(const double *x, size_t n, int multiply) {
    size_t left = 1;
    if (n == 1) {
        return x[0];
    }
    while (left < n - left) {
        left *= 2;
    }
    return multiply ? tree_of_terms(x, left, multiply) * tree_of_terms(x + left, n - left, multiply)
                    : tree_of_terms(x, left, multiply) + tree_of_terms(x + left, n - left, multiply);
}

/* The exact result, rounded once to f64 or f32; what is 2^100 or more in the tree of f64 is the tree's. */
static double float_result(const line *of, int narrow) {
    int multiply = of->args->op == WR_PRODUCT;
    double *about = reference_allocate((of->length + 1) * sizeof *about), result;
    unsigned_wide whole = multiply ? 1 : 0;
    size_t i;
    for (i = 0; i < of->length; ++i) {
        term each = term_at(of, i);
        about[i] = each.about;
        whole = multiply ? whole * each.whole : whole + each.whole;
    }
    result = of->length == 0 ? (double)multiply : tree_of_terms(about, of->length, multiply);
    free(about);
    if (isnan(result)) { /* beyond f64, times 0 */
        return 0.0;
    }
    if (fabs(result) < 0x1p100) {
        return narrow ? (double)(float)(wide)whole : (double)(wide)whole;
    }
    return narrow ? (double)(float)result : result;
}

static void put_as_float(const line *of) {
    double value = float_result(of, of->output_dtype == WR_F32);
    if (of->args->op == WR_MEAN) {
        value = of->length == 0 ? (double)NAN : float_result(of, 0) / (double)of->length;
    } else if (of->args->op == WR_NORM_L2) {
        value = sqrt(float_result(of, 0));
    } else if (of->args->add_to_output != 0) {
        double old = reference_get(of->output_dtype, of->args->output, of->index);
        value = of->args->op == WR_PRODUCT ? old * float_result(of, 0) : old + float_result(of, 0);
    }
    reference_put(of->output_dtype, of->args->output, of->index, value);
}

static void put_result(const line *of, uint64_t result) {
    if (reference_is_float(of->output_dtype)) {
        put_as_float(of);
        return;
    }
    if (of->args->add_to_output != 0) {
        uint64_t old = (uint64_t)reference_get_integer(of->output_dtype, of->args->output, of->index);
        result = combined(of->args->op, old, result);
    }
    reference_put_bits(of->output_dtype, of->args->output, of->index, result);
}

/* a < b as numbers of the type */
static int is_below(wr_dtype dtype, uint64_t a, uint64_t b) {
    return reference_is_signed(dtype) ? (int64_t)a < (int64_t)b : a < b;
}

static int is_minimum(wr_op op) { return op == WR_MIN || op == WR_ARGMIN; }

/* Whether b is further out than a. */
static int is_beyond(wr_op op, wr_dtype dtype, uint64_t a, uint64_t b) {
    return is_minimum(op) ? is_below(dtype, b, a) : is_below(dtype, a, b);
}

static uint64_t empty_extreme(wr_op op, wr_dtype dtype) {
    size_t bits = 8 * reference_size(dtype);
    uint64_t all = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    uint64_t largest = reference_is_signed(dtype) ? all >> 1 : all;
    uint64_t smallest = reference_is_signed(dtype) ? ~largest : 0;
    return is_minimum(op) ? largest : smallest;
}

static size_t find_extreme(const line *of) {
    size_t found = of->length, i;
    for (i = 0; i < of->length; ++i) {
        if (found == of->length || is_beyond(of->args->op, of->args->dtype, value_at(of, found), value_at(of, i))) {
            found = i;
        }
    }
    return found;
}

static void put_extreme(const line *of) {
    size_t found = find_extreme(of);
    uint64_t result = found < of->length ? value_at(of, found) : empty_extreme(of->args->op, of->args->dtype);
    if (of->args->add_to_output != 0) {
        uint64_t old = (uint64_t)reference_get_integer(of->output_dtype, of->args->output, of->index);
        result = is_beyond(of->args->op, of->output_dtype, result, old) ? old : result;
    }
    reference_put_bits(of->output_dtype, of->args->output, of->index, result);
}

void reduce_integer_line(const line *of) {
    switch ((int)of->args->op) {
    case WR_MIN:
    case WR_MAX:
        put_extreme(of);
        break;
    case WR_ARGMIN:
    case WR_ARGMAX:
        put_index(of, find_extreme(of), empty_extreme(of->args->op, of->args->dtype));
        break;
    default:
        put_result(of, result_of(of));
        break;
    }
}
