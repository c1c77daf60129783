/*
 * Random problems over every operator, type, shape, stride, alignment and option, of arrays, segments and vectors,
 * against the reference and in every place. Arguments: the place, how many problems (3000), the seed (1). A failure
 * prints the number of the problem.
 */
#include "harness/dot_jobs.h"
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "harness/segment_jobs.h"
#include "reference/reference.h"

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
    ptrdiff_t strides[3] = {0, 0, 0};
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

/* Any non-NULL pointer asks for the values. */
static unsigned char wanted;

static wr_dtype output_of(const type_list *outputs, int has_default) {
    return has_default && below(2) ? (wr_dtype)0 : choose(outputs->types, outputs->count);
}

/* Integers that are added to a float output are kept small: rounding then has nothing to say. */
static int is_exact_when_added(wr_dtype dtype, wr_dtype output_dtype) {
    return reference_is_float(dtype) || (int)output_dtype == 0 || !reference_is_float(output_dtype);
}

static wr_dtype random_accumulate_dtype(wr_op op, wr_dtype dtype) {
    if (!takes_accumulate_dtype(op, dtype) || below(3) > 0) {
        return (wr_dtype)0;
    }
    return dtype == WR_F64 || below(2) ? WR_F64 : WR_F32;
}

/* An operator and an element type that it takes. */
static void choose_operator(wr_op *op, wr_dtype *dtype) {
    do {
        *op = (wr_op)(1 + below(LAST_REDUCTION));
        *dtype = (wr_dtype)(1 + below(LAST_DTYPE));
    } while (offered_outputs(*op, *dtype).count == 0);
}

static wr_reduce_args random_reduction(void) {
    shape of = random_shape();
    wr_reduce_args args = reduce_args(WR_SUM, WR_F32, of.outer, of.axis, of.inner);
    type_list outputs;
    choose_operator(&args.op, &args.dtype);
    outputs = offered_outputs(args.op, args.dtype);
    args.output_dtype = output_of(&outputs, has_default_output(args.op, args.dtype));
    args.accumulate_dtype = random_accumulate_dtype(args.op, args.dtype);
    args.nan_mode = below(4) == 0 ? WR_NAN_IGNORE : WR_NAN_PROPAGATE;
    args.add_to_output =
        takes_add_to_output(args.op) && is_exact_when_added(args.dtype, args.output_dtype) && below(4) == 0;
    args.values = (args.op == WR_ARGMIN || args.op == WR_ARGMAX) && below(2) ? &wanted : NULL;
    return args;
}

static wr_reduce_args random_weighted_sum(void) {
    shape of = random_shape();
    wr_reduce_args args = reduce_args(WR_SUM, WR_F32, of.outer, of.axis, of.inner);
    type_list weights, outputs;
    args.dtype = (wr_dtype)(1 + below(LAST_DTYPE));
    weights = offered_weights(args.dtype);
    args.weights_dtype = choose(weights.types, weights.count);
    outputs = offered_weighted_outputs(args.dtype, args.weights_dtype);
    args.output_dtype = output_of(&outputs, 1);
    args.accumulate_dtype = random_accumulate_dtype(args.op, args.dtype);
    args.add_to_output = is_exact_when_added(args.dtype, args.output_dtype) && below(4) == 0;
    return args;
}

/* Of any size and element type: what the pointer needs is the alignment of a word. */
static size_t random_misalignment(wr_dtype dtype) {
    return below(16) * (reference_size(dtype) == 16 ? 4 : reference_size(dtype));
}

static image random_elements(wr_dtype dtype, size_t count) {
    image made = image_new(count * reference_size(dtype), random_misalignment(dtype));
    fill_random(dtype, (data_kind)below(ALL_DATA_KINDS), random_next(&state), made.payload, count);
    return made;
}

static image random_input(wr_dtype dtype, const placement *at) {
    image input = image_new(at->elements * reference_size(dtype), random_misalignment(dtype));
    fill_random(dtype, (data_kind)below(DATA_KINDS), random_next(&state), input.payload, at->elements);
    return input;
}

static void put_strides(wr_reduce_args *args, const placement *at, const image *input) {
    args->input = input->payload + at->first * reference_size(args->dtype);
    args->outer_stride = at->outer_stride;
    args->axis_stride = at->axis_stride;
    args->inner_stride = at->inner_stride;
    SAY_STRIDES(args);
}

static placement random_placement(const wr_reduce_args *args) {
    shape of = {args->outer, args->axis, args->inner};
    return below(3) == 0 ? random_strides(of) : contiguous(of);
}

static void check_random_reduction(void) {
    wr_reduce_args args = random_reduction();
    placement at = random_placement(&args);
    image input = random_elements(args.dtype, at.elements);
    put_strides(&args, &at, &input);
    check_reduce(&args, &input, random_misalignment(reference_output_dtype(&args)), label);
    image_free(&input);
}

static void check_random_weighted_sum(void) {
    wr_reduce_args args = random_weighted_sum();
    placement at = random_placement(&args);
    image input = random_elements(args.dtype, at.elements);
    image weights = random_elements(args.weights_dtype, args.axis);
    put_strides(&args, &at, &input);
    args.weights = weights.payload;
    check_weighted_reduce(&args, &input, &weights, random_misalignment(reference_output_dtype(&args)), label);
    image_free(&input);
    image_free(&weights);
}

static void check_random_dot(void) {
    wr_reduce_args sum = random_weighted_sum();
    wr_dot_args args = dot_args(sum.dtype, sum.axis);
    image left = random_elements(sum.dtype, sum.axis), right = random_elements(sum.weights_dtype, sum.axis);
    args.right_dtype = sum.weights_dtype;
    args.output_dtype = sum.output_dtype;
    args.accumulate_dtype = sum.accumulate_dtype;
    args.add_to_output = sum.add_to_output;
    args.left = left.payload;
    args.right = right.payload;
    check_dot(&args, &left, &right, random_misalignment(dot_output_dtype(&args)), label);
    image_free(&left);
    image_free(&right);
}

/* Segments that share `elements` among them in random portions, many of them empty. */
static image random_offsets(wr_dtype dtype, size_t segments, size_t most) {
    image made = image_new((segments + 1) * reference_size(dtype), random_misalignment(dtype));
    size_t at = below(20), length = 1 + below(1 + 2 * most / (segments + 1)), i;
    for (i = 0; i <= segments; ++i) {
        reference_put_bits(dtype, made.payload, i, at);
        at += below(8) == 0 ? below(8 * length) : below(length);
    }
    return made;
}

static void check_random_segments(void) {
    wr_reduce_args each = random_reduction();
    size_t segments = 1 + random_size(4000), count;
    wr_reduce_segments_args args = segments_args(each.op, each.dtype, segments);
    wr_dtype offsets_dtype = below(2) ? WR_I32 : WR_I64;
    image offsets = random_offsets(offsets_dtype, segments, MOST_ELEMENTS), input;
    count = (size_t)reference_get_integer(offsets_dtype, offsets.payload, segments);
    input = random_elements(each.dtype, count);
    args.output_dtype = each.output_dtype;
    args.accumulate_dtype = each.accumulate_dtype;
    args.nan_mode = each.nan_mode;
    args.add_to_output = each.add_to_output;
    args.values = each.values;
    args.offsets_dtype = offsets_dtype;
    args.input = input.payload;
    args.offsets = offsets.payload;
    args.input_count = below(2) ? count : 0;
    check_segments(&args, &input, &offsets, random_misalignment(reference_output_dtype(&each)), label);
    image_free(&offsets);
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
    alone.strides_given = 0;
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
    SAY_STRIDES(&args);
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
    unsigned long problems = argc > 2 ? strtoul(argv[2], NULL, 10) : 3000, i;
    unsigned long long seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    places_open(argc, argv);
    for (i = 0; i < problems; ++i) {
        snprintf(label, sizeof label, "problem %lu of seed %llu", i, seed);
        state = seed * UINT64_C(1000003) + i;
        switch (below(8)) {
        case 0:
        case 1:
            check_random_softmax();
            break;
        case 2:
            check_random_weighted_sum();
            break;
        case 3:
            check_random_dot();
            break;
        case 4:
            check_random_segments();
            break;
        default:
            check_random_reduction();
            break;
        }
    }
    places_close();
    return check_report("random_problems");
}
