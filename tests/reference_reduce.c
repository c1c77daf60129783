/* Reductions one line at a time, by recursion. */
#include "harness.h"
#include "reference.h"

#include <math.h>
#include <stdlib.h>

static size_t largest_power_of_two_below(size_t n) {
    size_t power = 1;
    while (power < n - power) {
        power *= 2;
    }
    return power;
}

float reference_tree_f32(const float *x, size_t n) {
    size_t left;
    if (n == 0) {
        return 0.0f;
    }
    if (n == 1) {
        return x[0];
    }
    left = largest_power_of_two_below(n);
    return reference_tree_f32(x, left) + reference_tree_f32(x + left, n - left);
}

double reference_tree_f64(const double *x, size_t n) {
    size_t left;
    if (n == 0) {
        return 0.0;
    }
    if (n == 1) {
        return x[0];
    }
    left = largest_power_of_two_below(n);
    return reference_tree_f64(x, left) + reference_tree_f64(x + left, n - left);
}

/* A line of the input: element i is array[start + i * stride]. */
typedef struct line {
    const void *array;
    wr_dtype dtype;
    ptrdiff_t stride;
    size_t length;
} line;

static const void *line_element(const line *of, size_t index) {
    ptrdiff_t size = (ptrdiff_t)reference_size(of->dtype);
    return (const unsigned char *)of->array + (ptrdiff_t)index * of->stride * size;
}

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes + 1);
    if (memory == NULL) {
        give_up("no memory");
    }
    return memory;
}

static double sum_in_f32(const line *of) {
    float *values = allocate(of->length * sizeof *values);
    double sum;
    size_t i;
    for (i = 0; i < of->length; ++i) {
        values[i] = (float)reference_get(of->dtype, line_element(of, i), 0);
    }
    sum = (double)reference_tree_f32(values, of->length);
    free(values);
    return sum;
}

static double sum_in_f64(const line *of) {
    double *values = allocate(of->length * sizeof *values);
    double sum;
    size_t i;
    for (i = 0; i < of->length; ++i) {
        values[i] = reference_get(of->dtype, line_element(of, i), 0);
    }
    sum = reference_tree_f64(values, of->length);
    free(values);
    return sum;
}

static double float_sum_or_mean(wr_op op, const line *of, wr_dtype accumulate) {
    int in_f64 = accumulate == WR_F64 || of->dtype == WR_F64;
    double sum = in_f64 ? sum_in_f64(of) : sum_in_f32(of);
    if (op == WR_SUM) {
        return sum;
    }
    return in_f64 ? sum / (double)of->length : (double)((float)sum / (float)of->length);
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

static double float_extreme(wr_op op, const line *of) {
    double sign = op == WR_MIN ? 1.0 : -1.0;
    double least = (double)INFINITY;
    size_t i;
    for (i = 0; i < of->length; ++i) {
        least = minimum(least, sign * reference_get(of->dtype, line_element(of, i), 0));
    }
    return sign * least;
}

static uint64_t integer_sum(const line *of) {
    uint64_t sum = 0;
    size_t i;
    for (i = 0; i < of->length; ++i) {
        sum += (uint64_t)reference_get_integer(of->dtype, line_element(of, i), 0);
    }
    return sum;
}

static int64_t integer_extreme(wr_op op, const line *of) {
    int64_t least = of->dtype == WR_I32 ? INT32_MAX : INT64_MAX;
    int64_t most = of->dtype == WR_I32 ? INT32_MIN : INT64_MIN;
    size_t i;
    for (i = 0; i < of->length; ++i) {
        int64_t value = reference_get_integer(of->dtype, line_element(of, i), 0);
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    return op == WR_MIN ? least : most;
}

static uint64_t field_sum(const line *of) {
    uint64_t sum = 0;
    size_t i;
    for (i = 0; i < of->length; ++i) {
        sum = (sum + reference_bits(of->dtype, line_element(of, i), 0)) % REFERENCE_KOALABEAR_P;
    }
    return sum;
}

static void put_integer_result(wr_op op, const line *of, wr_dtype output_dtype, void *output, size_t index) {
    if (op == WR_MIN || op == WR_MAX) {
        reference_put_bits(output_dtype, output, index, (uint64_t)integer_extreme(op, of));
    } else if (op == WR_MEAN) {
        double sum = (double)(int64_t)integer_sum(of);
        reference_put(output_dtype, output, index, sum / (double)of->length);
    } else if (output_dtype == WR_F32) {
        /* through f64 a 64-bit sum would be rounded twice */
        reference_put(WR_F32, output, index, (double)(float)(int64_t)integer_sum(of));
    } else if (output_dtype == WR_F64) {
        reference_put(WR_F64, output, index, (double)(int64_t)integer_sum(of));
    } else {
        reference_put_bits(output_dtype, output, index, integer_sum(of));
    }
}

static void reduce_line(const wr_reduce_args *args, const line *of, size_t index) {
    wr_dtype output_dtype = reference_output_dtype(args);
    if (of->dtype == WR_KOALABEAR) {
        reference_put_bits(output_dtype, args->output, index, field_sum(of));
    } else if (!reference_is_float(of->dtype)) {
        put_integer_result(args->op, of, output_dtype, args->output, index);
    } else if (args->op == WR_MIN || args->op == WR_MAX) {
        reference_put(output_dtype, args->output, index, float_extreme(args->op, of));
    } else {
        double value = float_sum_or_mean(args->op, of, args->accumulate_dtype);
        reference_put(output_dtype, args->output, index, value);
    }
}

wr_dtype reference_output_dtype(const wr_reduce_args *args) {
    return (int)args->output_dtype == 0 ? args->dtype : args->output_dtype;
}

void reference_reduce(const wr_reduce_args *args) {
    ptrdiff_t size = (ptrdiff_t)reference_size(args->dtype);
    ptrdiff_t outer_stride = args->outer_stride != 0 ? args->outer_stride : (ptrdiff_t)(args->axis * args->inner);
    ptrdiff_t inner_stride = args->inner_stride != 0 ? args->inner_stride : 1;
    size_t outer, inner;
    line of;
    of.dtype = args->dtype;
    of.stride = args->axis_stride != 0 ? args->axis_stride : (ptrdiff_t)args->inner;
    of.length = args->axis;
    for (outer = 0; outer < args->outer; ++outer) {
        for (inner = 0; inner < args->inner; ++inner) {
            ptrdiff_t start = (ptrdiff_t)outer * outer_stride + (ptrdiff_t)inner * inner_stride;
            of.array = (const unsigned char *)args->input + start * size;
            reduce_line(args, &of, outer * args->inner + inner);
        }
    }
}
