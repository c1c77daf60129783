/*
 * Random problems over every operator, type, shape, stride, alignment and option, against the reference and in every
 * place. Arguments: the place, how many problems (2000), the seed (1). A failure prints the number of the problem.
 */
#include "harness.h"
#include "jobs.h"
#include "random_numbers.h"
#include "reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Problems are kept small, so that many fit into a test. */
enum { MOST_ELEMENTS = 60000, LABEL_BYTES = 160 };

static uint64_t state;
static char label[LABEL_BYTES];

static size_t below(size_t bound) { return random_below(&state, bound); }

/* Sizes crowd about powers of two, where one way of working ends and another begins. */
static size_t random_size(size_t most) {
    size_t size;
    switch (below(4)) {
    case 0:
        size = below(9);
        break;
    case 1:
        size = ((size_t)1 << below(16)) + below(3) - 1;
        break;
    case 2:
        size = ((size_t)1 << below(14)) * 3 / 2 + below(5);
        break;
    default:
        size = below(3000);
        break;
    }
    return size <= most ? size : below(most + 1);
}

typedef struct shape {
    size_t outer, axis, inner;
} shape;

static shape random_shape(void) {
    shape made = {1, 1, 1};
    made.axis = random_size(MOST_ELEMENTS);
    if (below(3) > 0) {
        made.inner = random_size(MOST_ELEMENTS / (made.axis + 1));
    }
    if (below(3) > 0) {
        made.outer = random_size(MOST_ELEMENTS / (made.axis * (made.inner + 1) + 1));
    }
    return made;
}

/* An order of the three axes in memory, gaps between them, and some turned around. */
typedef struct placement {
    ptrdiff_t outer_stride, axis_stride, inner_stride;
    size_t elements, first;
} placement;

static placement contiguous(shape of) {
    placement made = {0, 0, 0, 0, 0};
    made.elements = of.outer * of.axis * of.inner;
    return made;
}

static placement random_strides(shape of) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    const int *order = orders[below(6)];
    size_t sizes[3], span = 1 + below(3);
    ptrdiff_t strides[3];
    placement made = {0, 0, 0, 1, 0};
    int i;
    sizes[0] = of.outer;
    sizes[1] = of.axis;
    sizes[2] = of.inner;
    for (i = 0; i < 3; ++i) {
        size_t reach = sizes[order[i]] == 0 ? 0 : span * (sizes[order[i]] - 1);
        int backwards = below(4) == 0;
        strides[order[i]] = backwards ? -(ptrdiff_t)span : (ptrdiff_t)span;
        made.first += backwards ? reach : 0;
        made.elements += reach;
        span = made.elements + below(3);
    }
    made.outer_stride = strides[0];
    made.axis_stride = strides[1];
    made.inner_stride = strides[2];
    return made;
}

static wr_dtype choose(const wr_dtype *from, size_t count) { return from[below(count)]; }

static const wr_dtype floats[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
static const wr_dtype integers[] = {WR_I8, WR_I16, WR_I32, WR_I64, WR_U8, WR_U16, WR_U32, WR_U64, WR_F32, WR_F64};
static const wr_op ops[] = {WR_SUM, WR_MEAN, WR_MIN, WR_MAX};

static void choose_float_types(wr_reduce_args *args) {
    args->dtype = choose(floats, 4);
    args->output_dtype = below(2) ? (wr_dtype)0 : choose(floats, 6);
    if ((args->op == WR_SUM || args->op == WR_MEAN) && below(4) == 0) {
        args->accumulate_dtype = args->dtype == WR_F64 || below(2) ? WR_F64 : WR_F32;
    }
}

static void choose_integer_types(wr_reduce_args *args) {
    args->dtype = below(2) ? WR_I32 : WR_I64;
    if (args->op == WR_SUM) {
        args->output_dtype = below(2) ? (wr_dtype)0 : choose(integers, 10);
    } else if (args->op == WR_MEAN) {
        args->output_dtype = choose(floats, 4);
    } else if (args->axis > 0) {
        args->output_dtype = below(2) ? (wr_dtype)0 : WR_I64;
    }
    if (args->op != WR_SUM && args->op != WR_MEAN && args->dtype == WR_I64) {
        args->output_dtype = (wr_dtype)0;
    }
}

static wr_reduce_args random_reduction(void) {
    shape of = random_shape();
    wr_reduce_args args = reduce_args(ops[below(4)], WR_F32, of.outer, of.axis, of.inner);
    switch (below(5)) {
    case 0:
        choose_integer_types(&args);
        break;
    case 1:
        args.op = WR_SUM;
        args.dtype = WR_KOALABEAR;
        break;
    default:
        choose_float_types(&args);
        break;
    }
    return args;
}

static image random_input(wr_dtype dtype, const placement *at) {
    size_t size = reference_size(dtype);
    image input = image_new(at->elements * size, below(16) * size);
    fill_random(dtype, (data_kind)below(DATA_KINDS), random_next(&state), input.payload, at->elements);
    return input;
}

static void check_random_reduction(void) {
    wr_reduce_args args = random_reduction();
    shape of = {args.outer, args.axis, args.inner};
    placement at = below(3) == 0 ? random_strides(of) : contiguous(of);
    image input = random_input(args.dtype, &at);
    args.input = input.payload + at.first * reference_size(args.dtype);
    args.outer_stride = at.outer_stride;
    args.axis_stride = at.axis_stride;
    args.inner_stride = at.inner_stride;
    check_reduce(&args, &input, below(16) * reference_size(reference_output_dtype(&args)), label);
    image_free(&input);
}

static wr_softmax_args random_softmax(void) {
    static const double scales[] = {0.0, 0.0, 1.0, 0.5, -2.25, 1e-3, 40.0};
    shape of = random_shape();
    wr_softmax_args args = softmax_args(choose(floats, 4), of.outer, of.axis, of.inner);
    args.output_dtype = below(2) ? (wr_dtype)0 : choose(floats, 6);
    args.log = (int32_t)below(2);
    args.empty_row = below(2) ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;
    args.scale = scales[below(7)];
    return args;
}

static wr_dtype softmax_output_dtype(const wr_softmax_args *args) {
    return (int)args->output_dtype == 0 ? args->dtype : args->output_dtype;
}

/* A row of the array, gathered and run by itself on the host, must have the bits that it has in the batch. */
static void check_row_alone(const wr_softmax_args *args, const placement *at, const image *output) {
    size_t size = reference_size(args->dtype), output_size = reference_size(softmax_output_dtype(args));
    size_t outer = below(args->outer), inner = below(args->inner), i, wrong = 0;
    ptrdiff_t outer_stride = at->outer_stride != 0 ? at->outer_stride : (ptrdiff_t)(args->axis * args->inner);
    ptrdiff_t axis_stride = at->axis_stride != 0 ? at->axis_stride : (ptrdiff_t)args->inner;
    ptrdiff_t inner_stride = at->inner_stride != 0 ? at->inner_stride : 1;
    ptrdiff_t start = (ptrdiff_t)outer * outer_stride + (ptrdiff_t)inner * inner_stride;
    image row = image_new(args->axis * size, 0), result = image_new(args->axis * output_size, 0);
    wr_softmax_args alone = *args;
    for (i = 0; i < args->axis; ++i) {
        ptrdiff_t offset = (start + (ptrdiff_t)i * axis_stride) * (ptrdiff_t)size;
        memcpy(row.payload + i * size, (const unsigned char *)args->input + offset, size);
    }
    alone.outer = alone.inner = 1;
    alone.outer_stride = alone.axis_stride = alone.inner_stride = 0;
    alone.input = row.payload;
    alone.output = result.payload;
    alone.logsumexp = NULL;
    CHECK(wr_softmax_ex(&alone, wr_host_stream()) == WR_SUCCESS, "%s: a row alone", label);
    for (i = 0; i < args->axis; ++i) {
        size_t index = (outer * args->axis + i) * args->inner + inner;
        wrong += memcmp(result.payload + i * output_size, output->payload + index * output_size, output_size) != 0;
    }
    CHECK(wrong == 0,
          "%s: softmax of %s to %s, [%zu][%zu][%zu], log %d: %zu elements of row %zu, %zu differ from it alone", label,
          dtype_name(args->dtype), dtype_name(softmax_output_dtype(args)), args->outer, args->axis, args->inner,
          args->log, wrong, outer, inner);
    image_free(&row);
    image_free(&result);
}

static void check_random_softmax(void) {
    wr_softmax_args args = random_softmax();
    shape of = {args.outer, args.axis, args.inner};
    placement at = below(3) == 0 ? random_strides(of) : contiguous(of);
    size_t count = of.outer * of.axis * of.inner, rows = of.outer * of.inner;
    size_t output_size = reference_size(softmax_output_dtype(&args)), sum_size = args.dtype == WR_F64 ? 8 : 4;
    image input = random_input(args.dtype, &at);
    image output = image_new(count * output_size, below(16) * output_size);
    image sums = image_new(rows * sum_size, below(4) * sum_size);
    args.input = input.payload + at.first * reference_size(args.dtype);
    args.outer_stride = at.outer_stride;
    args.axis_stride = at.axis_stride;
    args.inner_stride = at.inner_stride;
    args.output = output.payload;
    args.logsumexp = sums.payload;
    softmax_everywhere(&args, &input, &output, below(2) ? &sums : NULL, label);
    if (count > 0) {
        check_row_alone(&args, &at, &output);
    }
    image_free(&input);
    image_free(&output);
    image_free(&sums);
}

int main(int argc, char **argv) {
    unsigned long problems = argc > 2 ? strtoul(argv[2], NULL, 10) : 2000, i;
    unsigned long long seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    places_open(argc, argv);
    for (i = 0; i < problems; ++i) {
        snprintf(label, sizeof label, "problem %lu of seed %llu", i, seed);
        state = seed * UINT64_C(1000003) + i;
        if (below(3) == 0) {
            check_random_softmax();
        } else {
            check_random_reduction();
        }
    }
    places_close();
    return check_report("random_problems");
}
