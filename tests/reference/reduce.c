/* Reductions one line at a time. */
#include "reference/line.h"

#include "harness/harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void *reference_allocate(size_t bytes) {
    void *memory = malloc(bytes + 1);
    if (memory == NULL) {
        give_up("no memory");
    }
    return memory;
}

const void *line_element(const line *of, size_t i) {
    ptrdiff_t size = (ptrdiff_t)reference_size(of->args->dtype);
    return of->first + (ptrdiff_t)i * of->stride * size;
}

static wr_dtype weights_dtype(const wr_reduce_args *args) {
    return (int)args->weights_dtype == 0 ? args->dtype : args->weights_dtype;
}

const void *line_weight(const line *of, size_t i) {
    return (const unsigned char *)of->args->weights + i * reference_size(weights_dtype(of->args));
}

static void put_value(const line *of, size_t found, uint64_t empty) {
    wr_dtype dtype = of->args->dtype;
    if (found >= of->length) {
        reference_put_bits(dtype, of->args->values, of->index, empty);
    } else if (reference_is_float(dtype) && isnan(reference_get(dtype, line_element(of, found), 0))) {
        reference_put(dtype, of->args->values, of->index, (double)NAN);
    } else {
        reference_copy_element(dtype, of->args->values, of->index, line_element(of, found), 0);
    }
}

void put_index(const line *of, size_t found, uint64_t empty) {
    uint64_t index = found < of->length ? (uint64_t)found : UINT64_MAX;
    reference_put_bits(of->output_dtype, of->args->output, of->index, index);
    if (of->args->values != NULL) {
        put_value(of, found, empty);
    }
}

static int is_zero(wr_dtype dtype, const void *element) {
    size_t size = reference_size(dtype), i;
    if (reference_is_float(dtype)) {
        return reference_get(dtype, element, 0) == 0.0;
    }
    /* what the prime itself stands for, where a word may be that */
    if ((dtype == WR_GOLDILOCKS || dtype == WR_MERSENNE31) &&
        reference_bits(dtype, element, 0) == reference_prime(dtype)) {
        return 1;
    }
    for (i = 0; i < size; ++i) {
        if (((const unsigned char *)element)[i] != 0) {
            return 0;
        }
    }
    return 1;
}

static int is_left_out(const line *of, const void *element) {
    return reference_is_float(of->args->dtype) && of->args->nan_mode == WR_NAN_IGNORE &&
           isnan(reference_get(of->args->dtype, element, 0));
}

static void put_count(const line *of, uint64_t count) {
    int adds = of->args->add_to_output != 0;
    if (reference_is_float(of->output_dtype)) {
        double old = adds ? reference_get(of->output_dtype, of->args->output, of->index) : 0.0;
        reference_put(of->output_dtype, of->args->output, of->index, old + (double)count);
    } else {
        uint64_t old = adds ? reference_bits(of->output_dtype, of->args->output, of->index) : 0;
        reference_put_bits(of->output_dtype, of->args->output, of->index, old + count);
    }
}

void count_line(const line *of) {
    uint64_t zeros = 0, others = 0, old, result;
    size_t i;
    for (i = 0; i < of->length; ++i) {
        const void *element = line_element(of, i);
        if (!is_left_out(of, element)) {
            zeros += (uint64_t)is_zero(of->args->dtype, element);
            others += (uint64_t)!is_zero(of->args->dtype, element);
        }
    }
    if (of->args->op == WR_COUNT_NONZERO) {
        put_count(of, others);
        return;
    }
    result = of->args->op == WR_ANY ? others != 0 : zeros == 0;
    if (of->args->add_to_output != 0) {
        old = reference_bits(of->output_dtype, of->args->output, of->index) != 0;
        result = of->args->op == WR_ANY ? result | old : result & old;
    }
    reference_put_bits(of->output_dtype, of->args->output, of->index, result);
}

static void reduce_line(const line *of) {
    wr_op op = of->args->op;
    if (op == WR_ANY || op == WR_ALL || op == WR_COUNT_NONZERO) {
        count_line(of);
    } else if (op == WR_SUM_EXACT) {
        reduce_exact_line(of);
    } else if (reference_is_field(of->args->dtype)) {
        reduce_field_line(of);
    } else if (reference_is_integer(of->args->dtype)) {
        reduce_integer_line(of);
    } else {
        reduce_float_line(of);
    }
}

static wr_dtype default_output_dtype(const wr_reduce_args *args) {
    switch ((int)args->op) {
    case WR_ARGMIN:
    case WR_ARGMAX:
    case WR_COUNT_NONZERO:
        return WR_I64;
    case WR_ANY:
    case WR_ALL:
        return WR_U8;
    default:
        return args->weights != NULL && reference_degree(weights_dtype(args)) > 1 ? weights_dtype(args) : args->dtype;
    }
}

wr_dtype reference_output_dtype(const wr_reduce_args *args) {
    return (int)args->output_dtype == 0 ? default_output_dtype(args) : args->output_dtype;
}

void reference_reduce(const wr_reduce_args *args) {
    ptrdiff_t size = (ptrdiff_t)reference_size(args->dtype);
    ptrdiff_t outer_stride = args->strides_given ? args->outer_stride : (ptrdiff_t)(args->axis * args->inner);
    ptrdiff_t inner_stride = args->strides_given ? args->inner_stride : 1;
    size_t outer, inner;
    line of;
    of.args = args;
    of.stride = args->strides_given ? args->axis_stride : (ptrdiff_t)args->inner;
    of.length = args->axis;
    of.output_dtype = reference_output_dtype(args);
    for (outer = 0; outer < args->outer; ++outer) {
        for (inner = 0; inner < args->inner; ++inner) {
            ptrdiff_t start = (ptrdiff_t)outer * outer_stride + (ptrdiff_t)inner * inner_stride;
            of.first = (const unsigned char *)args->input + start * size;
            of.index = outer * args->inner + inner;
            reduce_line(&of);
        }
    }
}

static size_t offset_at(const wr_reduce_segments_args *args, size_t i) {
    wr_dtype dtype = args->offsets_dtype == WR_I32 ? WR_I32 : WR_I64;
    return (size_t)reference_get_integer(dtype, args->offsets, i);
}

/* The reduction of which each segment is a line. */
static wr_reduce_args reduction_of_segment(const wr_reduce_segments_args *args) {
    wr_reduce_args each;
    memset(&each, 0, sizeof each);
    each.struct_size = sizeof each;
    each.op = args->op;
    each.dtype = args->dtype;
    each.output_dtype = args->output_dtype;
    each.accumulate_dtype = args->accumulate_dtype;
    each.nan_mode = args->nan_mode;
    each.add_to_output = args->add_to_output;
    each.output = args->output;
    each.values = args->values;
    return each;
}

void reference_segments(const wr_reduce_segments_args *args) {
    wr_reduce_args each = reduction_of_segment(args);
    line of;
    of.args = &each;
    of.stride = 1;
    of.output_dtype = reference_output_dtype(&each);
    for (of.index = 0; of.index < args->segments; ++of.index) {
        size_t start = offset_at(args, of.index), size = reference_size(args->dtype);
        of.first = (const unsigned char *)args->input + start * size;
        of.length = offset_at(args, of.index + 1) - start;
        reduce_line(&of);
    }
}

void reference_dot(const wr_dot_args *args) {
    wr_reduce_args sum;
    memset(&sum, 0, sizeof sum);
    sum.struct_size = sizeof sum;
    sum.op = args->op == WR_DOT_EXACT ? WR_SUM_EXACT : WR_SUM;
    sum.dtype = args->dtype;
    sum.weights_dtype = args->right_dtype;
    sum.output_dtype = args->output_dtype;
    sum.accumulate_dtype = args->accumulate_dtype;
    sum.add_to_output = args->add_to_output;
    sum.input = args->left;
    sum.weights = args->count == 0 ? (const void *)args : args->right;
    sum.output = args->output;
    sum.outer = sum.inner = 1;
    sum.axis = args->count;
    reference_reduce(&sum);
}
