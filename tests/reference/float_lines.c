/* Floats: pairwise trees by recursion, extremes by comparison. */
#include "reference/line.h"

#include <math.h>
#include <stdlib.h>

static size_t largest_power_of_two_below(size_t n) {
    size_t power = 1;
    while (power < n - power) {
        power *= 2;
    }
    return power;
}

static float tree_f32(const float *x, size_t n, int multiply) {
    size_t left;
    float a, b;
    if (n == 1) {
        return x[0];
    }
    left = largest_power_of_two_below(n);
    a = tree_f32(x, left, multiply);
    b = tree_f32(x + left, n - left, multiply);
    return multiply ? a * b : a + b;
}

static double tree_f64(const double *x, size_t n, int multiply) {
    size_t left;
    double a, b;
    if (n == 1) {
        return x[0];
    }
    left = largest_power_of_two_below(n);
    a = tree_f64(x, left, multiply);
    b = tree_f64(x + left, n - left, multiply);
    return multiply ? a * b : a + b;
}

float reference_tree_f32(const float *x, size_t n) { return n == 0 ? 0.0f : tree_f32(x, n, 0); }

double reference_tree_f64(const double *x, size_t n) { return n == 0 ? 0.0 : tree_f64(x, n, 0); }

static double value_at(const line *of, size_t i) { return reference_get(of->args->dtype, line_element(of, i), 0); }

static int is_left_out(const line *of, double x) { return of->args->nan_mode == WR_NAN_IGNORE && isnan(x); }

/* An element that is left out is the identity in its place. */
static float mapped_f32(const line *of, size_t i) {
    float x = (float)value_at(of, i);
    if (is_left_out(of, (double)x)) {
        return of->args->op == WR_PRODUCT ? 1.0f : -0.0f;
    }
    switch ((int)of->args->op) {
    case WR_SUM_OF_SQUARES:
        return x * x;
    case WR_NORM_L1:
        return fabsf(x);
    default:
        return of->args->weights == NULL ? x : x * (float)reference_get(of->args->dtype, line_weight(of, i), 0);
    }
}

static double mapped_f64(const line *of, size_t i) {
    double x = value_at(of, i);
    if (is_left_out(of, x)) {
        return of->args->op == WR_PRODUCT ? 1.0 : -0.0;
    }
    switch ((int)of->args->op) {
    case WR_SUM_OF_SQUARES:
        return x * x;
    case WR_NORM_L1:
        return fabs(x);
    default:
        return of->args->weights == NULL ? x : x * reference_get(of->args->dtype, line_weight(of, i), 0);
    }
}

static size_t elements_left(const line *of) {
    size_t left = 0, i;
    for (i = 0; i < of->length; ++i) {
        left += (size_t)!is_left_out(of, value_at(of, i));
    }
    return left;
}

static double empty_result(wr_op op) { return op == WR_PRODUCT ? 1.0 : op == WR_MEAN ? (double)NAN : 0.0; }

/* Kept in 24 or 53 bits. */
static double norm_l2(const line *of, int bits) {
    double *values = reference_allocate(of->length * sizeof *values), result;
    size_t i;
    for (i = 0; i < of->length; ++i) {
        double x = value_at(of, i);
        values[i] = is_left_out(of, x) ? 0.0 : x;
    }
    result = reference_norm(values, of->length, bits);
    free(values);
    return result;
}

static float result_f32(const line *of, size_t left) {
    float *mapped = reference_allocate(of->length * sizeof *mapped), result;
    size_t i;
    for (i = 0; i < of->length; ++i) {
        mapped[i] = mapped_f32(of, i);
    }
    result = left == 0 ? (float)empty_result(of->args->op) : tree_f32(mapped, of->length, of->args->op == WR_PRODUCT);
    free(mapped);
    if (left > 0 && of->args->op == WR_MEAN) {
        result = result / (float)left;
    }
    return result;
}

static double result_f64(const line *of, size_t left) {
    double *mapped = reference_allocate(of->length * sizeof *mapped), result;
    size_t i;
    for (i = 0; i < of->length; ++i) {
        mapped[i] = mapped_f64(of, i);
    }
    result = left == 0 ? empty_result(of->args->op) : tree_f64(mapped, of->length, of->args->op == WR_PRODUCT);
    free(mapped);
    if (left > 0 && of->args->op == WR_MEAN) {
        result = result / (double)left;
    }
    return result;
}

/* Combined with what the output holds in the type that the result is kept in. */
static void put_sum(const line *of) {
    int in_f64 = of->args->accumulate_dtype == WR_F64 || of->args->dtype == WR_F64;
    int multiply = of->args->op == WR_PRODUCT;
    size_t left = elements_left(of);
    double result = of->args->op == WR_NORM_L2 ? norm_l2(of, in_f64 ? 53 : 24)
                    : in_f64                   ? result_f64(of, left)
                                               : (double)result_f32(of, left);
    if (of->args->add_to_output != 0) {
        double old = reference_get(of->output_dtype, of->args->output, of->index);
        if (in_f64) {
            result = multiply ? old * result : old + result;
        } else {
            float narrow = (float)old, with = (float)result;
            result = (double)(multiply ? narrow * with : narrow + with);
        }
    }
    reference_put(of->output_dtype, of->args->output, of->index, result);
}

/* IEEE 754-2019 minimum of two values; the maximum is the minimum of the negated values, negated. */
static double minimum(double a, double b) {
    if (isnan(a) || isnan(b)) {
        return (double)NAN;
    }
    if (a == b) {
        return signbit(a) ? a : b;
    }
    return a < b ? a : b;
}

static void put_extreme(const line *of) {
    int is_norm = of->args->op == WR_NORM_MAX;
    double sign = of->args->op == WR_MIN ? 1.0 : -1.0;
    double least = is_norm ? -0.0 : reference_largest(of->args->dtype);
    size_t left = elements_left(of), i;
    for (i = 0; i < of->length && left > 0; ++i) {
        double x = value_at(of, i);
        if (!is_left_out(of, x)) {
            least = minimum(least, sign * (is_norm ? fabs(x) : x));
        }
    }
    if (of->args->add_to_output != 0) {
        least = minimum(least, sign * reference_get(of->output_dtype, of->args->output, of->index));
    }
    reference_put(of->output_dtype, of->args->output, of->index, sign * least);
}

/* Whether b comes before a: NaN before all, then what is less, -0 below +0. */
static int is_before(double a, double b) {
    if (isnan(a) || isnan(b)) {
        return isnan(b) && !isnan(a);
    }
    return b < a || (a == b && signbit(b) && !signbit(a));
}

static void put_arg_extreme(const line *of) {
    double sign = of->args->op == WR_ARGMIN ? 1.0 : -1.0, best = 0.0;
    size_t found = of->length, i;
    uint64_t empty = 0;
    for (i = 0; i < of->length; ++i) {
        double x = value_at(of, i);
        if (!is_left_out(of, x) && (found == of->length || is_before(best, sign * x))) {
            best = sign * x;
            found = i;
        }
    }
    reference_put(of->args->dtype, &empty, 0, sign * reference_largest(of->args->dtype));
    put_index(of, found, empty);
}

void reduce_float_line(const line *of) {
    switch ((int)of->args->op) {
    case WR_MIN:
    case WR_MAX:
    case WR_NORM_MAX:
        put_extreme(of);
        break;
    case WR_ARGMIN:
    case WR_ARGMAX:
        put_arg_extreme(of);
        break;
    default:
        put_sum(of);
        break;
    }
}
