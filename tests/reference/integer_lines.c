/* Integers, modulo 2^64 until they are put into the output. */
#include "reference/line.h"

#include <math.h>

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

/* Squares and magnitudes are not negative, everything else is as its elements are. */
static int is_signed_result(const line *of) {
    switch ((int)of->args->op) {
    case WR_SUM_OF_SQUARES:
    case WR_NORM_L1:
    case WR_NORM_L2:
        return 0;
    default:
        return reference_is_signed(of->args->dtype);
    }
}

static double as_f64(const line *of, uint64_t result) {
    return is_signed_result(of) ? (double)(int64_t)result : (double)result;
}

/* Rounded once: through f64 a 64-bit result would be rounded twice. */
static double as_f32(const line *of, uint64_t result) {
    return (double)(is_signed_result(of) ? (float)(int64_t)result : (float)result);
}

static void put_as_float(const line *of, uint64_t result) {
    double value = of->output_dtype == WR_F32 ? as_f32(of, result) : as_f64(of, result);
    if (of->args->op == WR_MEAN) {
        value = of->length == 0 ? (double)NAN : as_f64(of, result) / (double)of->length;
    } else if (of->args->op == WR_NORM_L2) {
        value = sqrt(as_f64(of, result));
    } else if (of->args->add_to_output != 0) {
        double old = reference_get(of->output_dtype, of->args->output, of->index);
        value = of->args->op == WR_PRODUCT ? old * as_f64(of, result) : old + as_f64(of, result);
    }
    reference_put(of->output_dtype, of->args->output, of->index, value);
}

static void put_result(const line *of, uint64_t result) {
    if (reference_is_float(of->output_dtype)) {
        put_as_float(of, result);
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
